"""Abbreviations, days, hours and numbers go in as networks know them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.checks.calendar_ranges import DAYS
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.language.chinese import HAN
from service.translation.language.segmentation import has_letters, sentences_of
from service.translation.preparation import USUAL
from service.translation.sentence.abbreviations import _WORDS, enter_abbreviations
from service.translation.sentence.odd_words import has_odd_words
from service.translation.sentence.stages import Draft
from tests.service.translation.sentence.test_stages import to_itself


def is_looked_at(text: str, language: str) -> bool:
    """Whether the cheap look, or the one for usual sentences, tells that it may be odd."""
    is_usual = language != "zh" and USUAL.fullmatch(text.rstrip(", ")) is not None
    return has_spoken_numbers(text, language) if is_usual else has_odd_words(text, language)


def entered(text: str, language: str) -> str | None:
    """The text as it goes in. Of each part of it the looks tell that it may be odd."""
    for part in re.split(r"(?<=[，。、；])|(?<=, )", text):
        assert enter_abbreviations(part, language) is None or is_looked_at(part, language), part
    stage = enter_abbreviations(text, language)
    return stage and stage.text


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("de", "Rund 3 Mrd. Euro inkl. 5 Mio.", "Rund 3 Milliarden Euro inklusive 5 Millionen."),
        ("de", "1 Billion, 1,5 Billionen", "1.000 Milliarden, 1.500 Milliarden"),
        *(("de", f"{n} Std.", f"{n} Stunden.") for n in ("3", "⟦0⟧")),
        *(("en", f"about {n} hrs.", f"about {n} hours.") for n in ("3", "⟦0⟧")),
        ("de", "Für 3 Bio. Euro. Bio. Äpfel", "Für 3 Billionen Euro. Bio. Äpfel"),
        (
            "de",
            "Max. 5 Min. z. B. im 19. Jh.",
            "Maximal 5 Minuten zum Beispiel im 19. Jahrhundert.",
        ),
        (
            "de",
            "S. 5 u. Abb. 2 o. Art. 3, Mo. bis Fr., 5. Jan. 24",
            "Seite 5 und Bild 2 oder Artikel 3, Montag bis Freitag, 5. Januar 24",
        ),
        ("de", "Abb. 3, d. h. sie, d. h., er, d.h. wir", "Bild 3, d.h. sie, d.h., er, d.h. wir"),
        ("en", "I.e., i.e. in 221 B.C., a.k.a. Bo", "That is, i.e. in 221 BC, also known as Bo"),
        ("en", "(i.e. the house)", "(that is the house)"),
        ("en", "ca. 500 BC or c. 1850, (c. 5 of us)", "around 500 BC or around 1850, (c. 5 of us)"),
        ("de", "So.", None),
        (
            "de",
            "Nr.5, Bd.3, S.45, Hausnr.7, am 3.Mai, 1.5.24",
            "Nummer 5, Band 3, Seite 45, Hausnummer 7, am 3. Mai, 1.5.24",
        ),
        ("en", "No.5, pp.12-15, approx.5", "Number 5, pages 12-15, approximately 5"),
        (
            "de",
            "Bj. 1998, i. V. m. § 3, tgl. geschl.",
            "Baujahr 1998, in Verbindung mit § 3, täglich geschlossen.",
        ),
        ("de", "Der 2. Weltkrieg, im 1. Weltkrieg", "Der Zweite Weltkrieg, im Ersten Weltkrieg"),
        ("en", "28 pts. in 5 min", "28 points in 5 min"),
        ("en", "see no. ⟦0⟧ for 19 hrs. of it", "see number ⟦0⟧ for 19 hours of it"),
        ("de", "Do. So. 3 o. ä. u. a.", "Do. Sonntag 3 oder Ähnliches unter anderem."),
        (
            "en",
            "No. 5 et al. on Jan. 5: 3 pcs. (fig. 2)",
            "Number 5 and others on January 5: 3 pieces (figure 2)",
        ),
        ("en", "Oh no. I see a fig. It is", None),
        ("en", "Order no. 4711-B: see No. 5", "Order number 4711-B: see Number 5"),
        ("en", 'The answer is no. 3 left. He said "no. 5 of us"', None),
        (
            "de",
            "Bestell-Nr. 5, Hausnr.: 6, Seine Kd.-Nr.",
            "Bestellnummer 5, Hausnummer: 6, Seine Kundennummer.",
        ),
        ("de", "Art. Nr. 7 und IBAN-Nr. DE8", "Artikelnummer 7 und IBAN-Nummer DE8"),
        ("de", "Ein Narr. Er ist Artikel-Nr", None),
        ("en", "(misc. items, e.g. approx. 5)", "(various items, for example approximately 5)"),
        ("en", "Tea w/ milk, w/o sugar, w/e it is", "Tea with milk, without sugar, w/e it is"),
        ("en", "such files, e.g.:", "such files, for example:"),
        ("en", "Set max.width. It is Max.5.", None),
        ("zh", "Mr. Bo, max. 5", None),
    ],
)
def test_abbreviations_go_in_as_words(language: str, text: str, spelled: str | None) -> None:
    assert entered(text, language) == spelled


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("de", "So. Di., Do. und Fr.", "So. Dienstag, Donnerstag und Freitag."),
        ("de", "Erst am So. mit Fr. Bo", "Erst am Sonntag mit Frau Bo"),
        ("de", "Mo.–Do. 8, Sa./So. zu", "Montag – Donnerstag 8, Samstag / Sonntag zu"),
        ("de", "Do-Re-Mi, Di-Bo", None),
        ("en", "Sat. and Sun. closed", "Saturday and Sunday closed"),
        ("en", "Mon-Thurs, Sat/Sun.", "Monday – Thursday, Saturday / Sunday."),
        ("en", "Sun-Moon, Sat-Nav, the Sun", None),
        ("en", "Sat 10 minutes, the Sun 5", None),
        ("de", "So 3 Dinge, Do 5", None),
    ],
)
def test_short_days_go_in_as_whole_ones(language: str, text: str, spelled: str | None) -> None:
    assert entered(text, language) == spelled


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("de", "Mo-Fr 8-18 Uhr", "Montag – Freitag 8:00-18:00"),
        (
            "en",
            "At 3 p.m. or 10 a.m.-6:30 pm. At 12PM.",
            "At 15 o'clock or 10:00-18:30. At 12 o'clock.",
        ),
        (
            "en",
            "9 to 11 p.m., 4-6 PM, 9 to 5 p.m., 10:30–2 am, 12 a.m. on",
            "21 to 23 o'clock, 16:00-18:00, 9 to 17 o'clock, 22:30–2:00, 0:00 on",
        ),
        ("en", "20-11 PM, $5 pm, 5 amps, I am", None),
        (
            "en",
            "Sat: 10am, Thu, 12/12, Fri ⟦0⟧, from: Sun ⟦1⟧, Sun: Closed, Tue closed",
            "Saturday: 10 o'clock, Thursday, 12/12, Friday ⟦0⟧, from: Sunday ⟦1⟧, Sunday: Closed"
            ", Tuesday closed",
        ),
        ("en", "The Sun closed it, Tom sat ⟦0⟧, the Sun ⟦1⟧, Monk closed", None),
        ("de", "Sa: 10-14 Uhr, Mo: 8.30 Uhr", "Samstag: 10:00-14:00, Montag: 8:30"),
        (
            "en",
            "Sat 9 a.m., Tue, 14 Jan or Wed, Jan 6",
            "Saturday 9 o'clock, Tuesday, 14 Jan or Wednesday, Jan 6",
        ),
        (
            "de",
            "Mo, Di, Do 8–12, Sa 9 Uhr, Fr 12.5.",
            "Montag, Dienstag, Donnerstag 8–12, Samstag 9:00, Freitag 12.5.",
        ),
        ("de", "9–17 Uhr, Sa 9 - 13.30 h, 10 Uhr", "9:00–17:00, Samstag 9:00 - 13:30, 10:00"),
        (
            "de",
            "9 bis 17 Uhr, um 14 Uhr 30, 10 Uhr 30 Minuten, von 8.15 Uhr an",
            "9:00 bis 17:00, um 14:30, 10:00 30 Minuten, von 8:15 an",
        ),
        (
            "de",
            "8 Uhr morgens bis 8 Uhr abends, 12 Uhr mittags, 2 bis 3 Uhr nachmittags",
            "8:00 bis 20:00, 12:00, 14:00 bis 15:00",
        ),
        ("de", "9–17 Uhren, mit 5-6 h/d, 3,5 Uhr, das 17-Uhr-Spiel, 2024 Uhr, 3:30 h", None),
    ],
)
def test_hours_go_in_as_networks_know_them(language: str, text: str, spelled: str | None) -> None:
    assert entered(text, language) == spelled


@pytest.mark.parametrize(
    ("pair", "text", "spelled"),
    [
        (("en", "de"), "No. 5, room no.: 7, he said no. 5", "Nr. 5, room Nr.: 7, he said no. 5"),
        (
            ("en", "de"),
            "U.S. Army, U.S., in the U.S.A. or U.S.",
            "US Army, US, in the U.S.A. or U.S.",
        ),
        (("en", "zh"), "Room no. 5", "Room number 5"),
        (("en", "de"), "2 tbsp oil, ⟦0⟧ tsp. of salt, 3lbs", "2 EL oil, ⟦0⟧ TL of salt, 3 Pfund"),
        (("en", "de"), "6ft high", "6 Fuß high"),
        (("en", "de"), "one tsp, 5-lb bag, 3 tbsp-ish, 2 lbsx", None),
        (("de", "en"), "inkl. MwSt., die MwSt. ist", "inklusive VAT, die VAT ist"),
        (("de", "en"), "44 v. Chr. bis 14 n. Chr. und", "44 BC bis 14 AD und"),
        (("de", "en"), "Ca. 5, d. h. er, d.h. sie, D.h. ja", "Etwa 5, i.e. er, i.e. sie, i.e. ja"),
        (
            ("de", "en"),
            "3. Jänner, im Feber 2024, Jännerin",
            "3. Januar, im Februar 2024, Jännerin",
        ),
        (("de", "zh"), "44 v. Chr. und", "44 vor Christus und"),
        (
            ("de", "en"),
            "2 EL, 1 TL, ⟦0⟧ Teelöffel, 3 Esslöffeln, 1 Prise",
            "2 tbsp, 1 tsp, ⟦0⟧ tsp, 3 tbsp, 1 pinch",
        ),
        (("de", "en"), "5 ELs, der TL, 2 Prisenx", None),
        (("zh", "en"), "糖2汤匙，盐 ⟦0⟧茶匙，3 大勺，小勺", "糖2 tbsp，盐 ⟦0⟧ tsp，3 tbsp，小勺"),
        (("en", "de"), "My aunt—who is old—has it", "My aunt — who is old — has it"),
        (("en", "zh"), "My aunt—who is old—has it", None),
    ],
)
def test_what_the_target_writes_itself_goes_in_so(
    pair: tuple[str, str], text: str, spelled: str | None
) -> None:
    stage = enter_abbreviations(text, *pair)
    assert (stage and stage.text) == spelled
    assert stage is None or is_looked_at(text, pair[0])


@given(st.integers(1, 500), st.integers(1, 1899), st.sampled_from(["of", "out of"]))
def test_how_many_of_all_goes_into_chinese_as_a_fraction(some: int, of: int, word: str) -> None:
    text = f"Page {some} {word} {of}, {some}.5 {word} {of:,} stars, 3 of 2024, {some} of us"
    stage = enter_abbreviations(text, "en", "zh")
    assert stage is not None
    assert stage.text == f"Page {some}/{of}, {some}.5/{of:,} stars, 3 of 2024, {some} of us"
    assert stage.leave(Draft(stage.text)).text == text
    assert is_looked_at(f"Page {some} {word} {of}", "en")
    assert enter_abbreviations(text, "en", "de") is None


@pytest.mark.parametrize("short", ["oz", "Inc", "Ave", "Corp", "⟦0⟧"])
def test_no_point_within_an_english_sentence_goes_into_chinese(short: str) -> None:
    text = f"The {short}. is 8 {short}. 7, that {short}., of course, is {short}."
    stage = enter_abbreviations(text, "en", "zh")
    assert stage is not None
    assert stage.text == f"The {short} is 8 {short} 7, that {short}, of course, is {short}."
    assert stage.leave(Draft(stage.text)).text == text
    assert is_looked_at(text, "en")
    assert enter_abbreviations(text, "en", "de") is None


@pytest.mark.parametrize("language", ["de", "en"])
def test_an_abbreviation_goes_in_as_words_however_much_stands_before_it(language: str) -> None:
    """Its letters may be many, and its points some."""
    before = "Haus " * 20
    known = [one for one in _WORDS[language] if one.replace(".", "").replace(" ", "").isalpha()]
    assert len(known) > 30
    for short in known:
        stage = enter_abbreviations(f"{before}{short} 5, {short} 200 x.", language)
        assert stage is not None, short
        assert f" {short} " not in stage.text


@pytest.mark.parametrize(
    ("text", "copy", "written"),
    [
        ("It is on Sept. 11.", "Es ist am 11. September.", "Es ist am 11. Sept."),
        ("It is on Sept. 11, I know.", "Am 11. September, ja.", "Am 11. Sept., ja."),
        ("In Sept. 1999.", "Im September 1999.", "Im Sept. 1999."),
    ],
)
def test_an_abbreviation_at_the_end_has_one_point(text: str, copy: str, written: str) -> None:
    stage = enter_abbreviations(text, "en", "de")
    assert stage is not None
    assert stage.leave(Draft(copy)).text == written


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("en", "It costs 5 (approx.).", "It costs 5 (approximately)."),
        ("de", "9-12 u. 14 Uhr, 1.299,- € und 5,-- €", "9-12 und 14:00, 1.299 € und 5 €"),
        (
            "en",
            "€4.5M, ⟦0⟧2.3bn, $60k–$80k, 1.2M images, 3.5k people",
            "€4.5 million, ⟦0⟧2.3 billion, $60,000–$80,000, 1.2 million images, 3,500 people",
        ),
        ("en", "10K run, 4K, 5m, $5 m, 1.5k/s, v1.2B-a", None),
        ("de", "CHF 5.– und 40 Std./Woche", "CHF 5 und 40 Stunden/Woche"),
    ],
)
def test_amounts_go_in_as_whole_numbers(language: str, text: str, spelled: str | None) -> None:
    assert entered(text, language) == spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        (
            "苹果15块5，三块五一斤，12块5毛，10块3个，一块三个人，第3块5",
            "苹果15.5元，3.5元一斤，12.5元，10块3个，一块三个人，第3块5",
        ),
        (
            "9·11事件，3·14·15，以3比2胜，21 比 19，以三比零，5比3大，2比1比3，三比二",
            "9/11事件，3·14·15，以3:2胜，21:19，以3:0，5比3大，2比1比3，三比二",
        ),
        ("达10~15亿元，3~5天", "达10亿-15亿元，3~5天"),
        ("余额为-120.50元，−5℃至-3℃", "余额为 -120.50元，−5℃至 -3℃"),
        (
            "打8折，9.5折优惠，八五折起，九点五折，10折，第三折，三折伞，骨折",
            "20%折扣，5%折扣，15%折扣起，5%折扣，10折，第三折，三折伞，骨折",
        ),
        ("近万人，超过万元，上万个，一万元", "近1万人，超过1万元，上万个，一万元"),
        ("管理；（二）质量，(十一)成本", "管理；（2）质量，(11)成本"),
        ("占3%～5%，⟦0⟧%~⟦1⟧%，3%—", "占3%到5%，⟦0⟧%到⟦1⟧%，3%—"),
        ("350克，五百毫升，三千克，3升水，120平米", "350g，500ml，3kg，3L水，120平方米"),
        ("深度10千米，三千米，5千米/时，5 千米", "深度10km，三千米，5千米/时，5 km"),
        (
            "3克拉，由3升至5，一升再升，三伏天，第五克，几克，两千瓦特",
            "3克拉，由3升至5，一升再升，三伏天，第五克，几克，2kW",
        ),
        (
            "三分之二，十分之一，四分之一决赛，百分之五，五分之八，一又二分之一",
            "2/3，1/10，四分之一决赛，百分之五，五分之八，1.5",
        ),
        (
            "千分之三，万分之一，五千分之一，两万五千分之一，一百分之三，亿分之一",
            "0.3%，0.01%，1/5,000，1/25,000，一百分之三，亿分之一",
        ),
        (
            "1亿2000万人，3万5千名，2万4801张，1万5元，3千5百，2千3百万，1亿500万，3万零50个",
            "1.2亿人，35,000名，24,801张，15,000元，3,500，2300万，1.05亿，30,050个",
        ),
        (
            "几万人，数十万元，几千万，数亿，超过数百亿，数万亿，好几万",
            "超过1万人，超过10万元，超过1000万，超过1亿，超过100亿，超过1万亿，超过1万",
        ),
        ("几百万，数百万，数十亿，几千，人数万，无数亿，几万分之一，成千上万，第几万", None),
        ("3分之2，100分之5，5分之8，3.5分之2", "2/3，100分之5，5分之8，3.5分之2"),
        (
            "3-5万元，200～300万，20到30万，1.5至8亿，三四万，两三百万，五六十万",
            "3万-5万元，200万-300万，20万到30万，1.5亿至8亿，3万-4万，200万-300万，50万-60万",
        ),
        ("5-3万，2020年-30万，3月-5万，3万到5万，二十三四万，第3-5万，三五万", None),
        ("3万2023年，3万5个，2千元，第3千5百，1.3万5千，10亿，3万5万", None),
        (
            "一九八四年，二〇二六年三月，一九八四年级，一九年级",
            "1984年，2026年三月，一九八四年级，一九年级",
        ),
        (
            "上世纪八十年代，二十世纪九十年代，20世纪80年代，21世纪00年代，九十年代",
            "1980年代，1990年代，1980年代，2000年代，90年代",
        ),
        (
            "公元前三世纪，得了九十八点五分，三点五分，第八十年代",
            "公元前3世纪，得了98.5分，三点五分，第八十年代",
        ),
        ("大约三四百人，五六十个，三五个，五六年", "大约300-400人，50-60个，三五个，五六年"),
        ("三四天后，十七八岁，二十四五岁，一二三四个", "3-4天后，17-18岁，24-25岁，一二三四个"),
        ("三五天后，三五个月，七八点钟，十有八九", "3-5天后，3-5个月，7-8点钟，很可能"),
        ("共3个，（共 ⟦0⟧ 页）", "总共3个，（总共 ⟦0⟧ 页）"),
        ("共计12人，中共18大，全班共50人", "总共12人，中共18大，全班共50人"),
        ("涨了两成，有九成五的人，成为两成员", "涨了20%，有95%的人，成为两成员"),
        ("零下十五度，十一点半，十二点一刻，八点半", " -15度，11:30，12:15，八点半"),
        (
            "二战后，第二战后，一战中，十二战中",
            "第二次世界大战后，第二战后，第一次世界大战中，十二战中",
        ),
        (
            "每千克，百克，5四伏，五克3.5，(七八)，零下三四十度",
            "每千克，百克，5四伏，五克3.5，(七八)，零下30-40度",
        ),
        ("两点五亿，12分之五分之二克，公元前三七世纪", "2.5亿，12分之2/5克，公元前三七世纪"),
        ("早上8点到晚上10点半，早上8点到9点", "8:00-22:30，早上8点到9点"),
        ("增长百分之六点五，达五点二亿", "增长6.5%，达5.2亿"),
        ("零下5度，零下十摄氏度，零下", " -5度， -10摄氏度，零下"),
        ("2020年-2023年，5元-10元，和平-2021，F-16，氦-3，3-5", None),
        ("3点半、12点一刻到7号～9号，8:00—9:30", "3点30分、12点15分到7号-9号，8:00-9:30"),
        ("第3点半数，三点半，6-12岁，——好", None),
        ("下午3:20，晚上8点05分至9:30，中午12：10", "15:20，20:05-21:30，中午12:10"),
        ("周一至周五9:00-17:00，星期六 10:00", "周一至周五 9:00-17:00，星期六 10:00"),
        ("上午9:00至下午4:30，凌晨1点15分～2:45", "上午9:00-16:30，凌晨1:15-2:45"),
        ("3小时58分12秒，1个小时20分钟", "3小时、58分钟、12秒，1个小时、20分钟"),
        (
            "3月5日20时30分，上午9时至下午5时，8时30分—12时，下午3时",
            "3月5日 20:30，9:00-17:00，8:30-12:00，下午3点",
        ),
        (
            "3月5日晚8点，那天晚8点，早8点至晚6点，明早七点，今晚8点，晚一点，早一点睡",
            "3月5日 20:00，那天晚上8点，8:00-18:00，明天早上七点，今晚8点，晚一点，早一点睡",
        ),
        (
            "凌晨三点半，早上八点二十，清晨五点，早上七八点，下午三点半，每早八点",
            "凌晨3:30，早上8:20，清晨5:00，早上7-8点，下午三点半，每早八点",
        ),
        ("第一千零六十二条和第二十一条，第一千金", "第1062条和第二十一条，第一千金"),
        ("13日上午10时许，5月6号晚上八点", "13日上午10:00许，5月6号 20:00"),
        ("上午九时三十分，十时整，早上八点十个人", "上午9:30，十时整，早上八点十个人"),
        ("周一～周五9：30～18：30，会议8：00", "周一至周五 9:30-18:30，会议8:00"),
        ("开会时间为09: 00，比分4: 10", "开会时间为9:00，比分4: 10"),
        (
            "1-9月，1至9月份，1月～3月，2026年1-2月",
            "1月到9月份，1月到9月份，1月到3月份，2026年1月到2月份",
        ),
        ("1-9个月，9-1月，1-13月，3-5月龄，3月至5月3日，5时，30时3人", None),
        ("还剩2分30秒，身高1米83", "还剩2分钟、30秒，身高1.83米"),
        ("以9秒83夺冠，1分46秒40，30秒", "以9.83秒夺冠，1分46.40秒，30秒"),
        ("2026年08月，2026年 01月底", "2026年8月，2026年 1月底"),
        ("海拔8848米，海拔 3000米", "高度8848米，高度 3000米"),
        ("30秒100元，9秒8，5秒30分，当地海拔4500米，海拔高度，2026年08月03日，2026年10月", None),
        ("比分4:10，12:30:45，3点15分钟，得了2分，100米20人，3米20厘米，5分3次", None),
    ],
)
def test_chinese_signs_discounts_and_times_go_in_as_networks_know_them(
    text: str, spelled: str | None
) -> None:
    assert entered(text, "zh") == spelled


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *(("en", f"at {hour}:20 {half}.m.") for hour in range(1, 13) for half in "ap"),
        *(("de", f"um {hour} Uhr {part}") for hour in range(1, 13) for part in ("abends", "früh")),
        *(("de", f"von {hour} bis {hour + 1} Uhr {part}") for hour, part in [(3, "nachmittags")]),
        *(("zh", f"{part}{hour}:20") for hour in range(1, 13) for part in ("下午", "晚上", "早上")),
        *(("zh", f"下午{hour}:20至{hour + 1}点05分") for hour in range(1, 11)),
        *(("zh", text) for text in ("上世纪八十年代", "20世纪80年代", "一九八四年", "十一点半")),
        *(("zh", text) for text in ("三分之二", "一又四分之三", "早上8点到晚上10点", "涨了两成")),
        *(
            ("zh", text)
            for text in (
                "身高1米83",
                "身高一米六五",
                "三点五万亿",
                "百分之零点三",
                "五百克",
                "两千瓦",
                "千分之三",
                "万分之五",
                "五千分之一",
                "1亿2千万",
                "3-5万",
                "几十万",
                "数亿",
                "20到30亿",
                "两三百万",
                "2万4801张",
            )
        ),
    ],
)
def test_what_goes_in_has_the_numbers_of_the_text(language: str, text: str) -> None:
    assert unmatched(find_numbers(text), find_numbers(entered(text, language) or text)) == ([], [])


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "So, 3-4 Tage, So 10-12 Leute, So 3:1, So, ⟦0⟧ ist da"),
        ("de", "Fr 20-30 pro Person, Di 1. Reihe"),
        ("de", "2-3 h am Tag und -4,--ipv4"),
        ("en", "Sun Type 6, Sun Ultra 10, Sat 5 People, Sun 3-4 times"),
        ("en", "1.2M, 720k, ⟦0⟧ 1M and 10.2k indicating"),
        ("zh", "2008年——30年前，8月5日——3人"),
    ],
)
def test_what_only_looks_like_days_hours_and_amounts_stays(language: str, text: str) -> None:
    assert entered(text, language) is None


PARTS = {
    "zh": """
        一 二 三 四 七 九 十 百 千 万 亿 零 〇 两 点 半 刻 分 分之 百分之 年 年代 世纪 公元前 成 折
        克 千克 升 瓦 伏 平米 米 度 零下 近 约 二战 后 第 ， 。 第三章 条 至 ～ % 5 12 3.5 1,234
        2024 早上 下午 小时 个 人 天 岁 元 又 、 - ⟦0⟧ ٣ 𝟐 ½ <b> {x} A
        多 余 几 时 早 晚 明早 ： 09: 20 周一 周五 月 整
    """,
    "en": """
        one five nineteen twenty twenty-one hundred thousand point oh zero and the of May March
        first thirteenth in since half past quarter to 3 2,500 hrs. p.m. Friday i.e. B.C. no. ⟦0⟧
        . , ( - ſ İ ß ﬁ 𝐨𝐧𝐞 <b> {x} w/ min
    """,
    "de": """
        Komma fünf zwei neunzehnhundertvierundachtzig am einundzwanzigsten März 1. Weltkrieg der
        d. h. Abb. Bj. halb acht Uhr 17 9–5 Mo. Fr. bis Viertel nach und ß . , ( - ⟦0⟧ <b> {x} ٣
    """,
}
"""What stages look for, and what is strange."""


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(sorted(PARTS)), st.data())
def test_every_text_goes_in_whole_and_a_copy_of_it_comes_back_as_it_was(
    language: str, data: st.DataObject
) -> None:
    words = data.draw(st.lists(st.sampled_from(PARTS[language].split()), min_size=1, max_size=9))
    text = ("" if language == "zh" else " ").join(words)
    stage = enter_abbreviations(text, language)
    if stage is not None:
        assert "None" not in stage.text
        ends_with_point = re.search(r"\.\W*\Z", text) is not None
        assert ends_with_point or is_looked_at(text, language)
        if has_letters(stage.text):
            is_in_signs = HAN.search(text) and not HAN.search(stage.text)
            left = stage.leave(to_itself(stage.text)).text
            assert left == (stage.text if is_in_signs else text)


@pytest.mark.parametrize("text", ["350毫升", "五百克", "２.5千克", "60瓦特", "220伏", "3升"])
def test_a_measure_that_is_all_of_a_chinese_text_stays_in_signs(text: str) -> None:
    stage = enter_abbreviations(text, "zh")
    assert stage is not None
    assert not HAN.search(stage.leave(to_itself(stage.text)).text)


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("noch 5 Std.", "5 hours left.", "5 hours left"),
        ("⟦0⟧ Min.", "⟦0⟧ minutes.", "⟦0⟧ minutes"),
        ("inkl. MwSt.", "including VAT.", "including VAT"),
        ("Noch 5 Std.", "5 hours left.", "5 hours left."),
        ("es dauert 5 Std. lang.", "it takes 5 hours.", "it takes 5 hours."),
        ("noch 5 Std.", "noch 5 Stunden.", "noch 5 Std."),
        ("Std.", "Hours.", "Hours"),
        ("Std.", "小时。", "小时"),
        ("zzgl.", "plus", "plus"),
        ("Mo.", "Monday.", "Monday"),
    ],
)
def test_the_point_of_an_abbreviation_ends_no_label(text: str, said: str, expected: str) -> None:
    assert is_looked_at(text, "de")
    stage = enter_abbreviations(text, "de", "en")
    assert stage is not None
    assert stage.leave(to_itself(said)).text == expected


@pytest.mark.parametrize("place", ["Nur {} Texte", "{} Texte", "Das ist {} Recht."])
@pytest.mark.parametrize(
    "word", ["betrieblich", "gesetzlich", "schriftlich", "persönlich", "mündlich", "vermutlich"]
)
def test_words_in_lich_are_no_ends_of_sentences_and_go_in_whole(word: str, place: str) -> None:
    text = place.format(word.removesuffix("ich") + ".")
    assert [*sentences_of(text, "de")] == [text]
    stage = enter_abbreviations(text, "de", "en")
    assert stage is not None
    assert stage.text == place.format(word)


@pytest.mark.parametrize("text", ["Er sah das Dirndl. Gut.", "evtl. Rest", "Das Nagl. Er", "inkl."])
def test_other_words_with_these_letters_are_none_in_lich(text: str) -> None:
    stage = enter_abbreviations(text, "de", "en")
    assert stage is None or "lich" not in stage.text


@pytest.mark.parametrize("language", ["de", "en"])
def test_a_short_day_behind_a_preposition_goes_in_whole(language: str) -> None:
    words = {"de": ["am", "bis", "jeden"], "en": ["on", "by", "every"]}[language]
    for short, day in DAYS[language].items():
        for word in words:
            for text in (f"so {word} {{}}", f"gut {word} {{}}, x", f"A {word} {{}}. and 3 b"):
                stage = enter_abbreviations(text.format(short), language)
                assert stage is not None
                assert stage.text.replace(".", "") == text.format(day).replace(".", "")
                assert has_odd_words(text.format(short), language)
                assert not USUAL.fullmatch(f"so {word} {short}")
    for text in ("Sold by Sun Microsystems", "am Montag", "by Frida", "on Fri-day", "bis Mi_a"):
        assert enter_abbreviations(text, language) is None


def test_other_beginnings_of_sentences_are_usual() -> None:
    for text in ("So ist das", "Do you see it", "Die Frau am Montag", "Monday is here"):
        assert USUAL.fullmatch(text)
