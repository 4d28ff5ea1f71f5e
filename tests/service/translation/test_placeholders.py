"""Placeholders, addresses and strings to keep are found in ordinary and hostile texts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from model.text.spans import Span
from service.translation.placeholders import KeptStrings, find_kept, occurs
from tests.service.translation.code_tokens import CODE, FRAMES

DATA = Path(__file__).parents[2] / "data"
EMOJI = ("😀", "🍕", "👩")
CASES = [
    line.split("\t")
    for line in (DATA / "placeholders.tsv").read_text(encoding="utf-8").splitlines()
]


def kept(text: str, *keep: str) -> list[str]:
    return [text[start:end] for start, end in find_kept(text, KeptStrings(keep))]


def test_every_placeholder_of_the_set_is_found_and_nothing_else() -> None:
    """Emoji are left out where texts are cut, and tags in pairs are placed by alignment."""
    for _, _, text, strings in CASES:
        if not any(emoji in strings for emoji in EMOJI):
            assert "".join(kept(text)) == "".join(strings.split(" ¦ ")), text


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_json_of_any_depth_has_nothing_to_keep_but_what_its_texts_have(
    separators: tuple[str, str],
) -> None:
    """Without spaces the end of a text, the braces and the next text look like one token."""
    texts = ["The dog is small.", "Hi {name}, run a_b.", 'I said "yes".']
    fields: list[dict[str, object]] = [{"id": 1, "text": text} for text in texts]
    for data in (fields, {"all": fields}, {"all": {"one": fields[1]}}, {"a": {"b": texts}}):
        asked = json.dumps(data, separators=separators)
        found = "".join(kept(asked))
        assert found.replace('\\"', "") == "{name}a_b" * asked.count("{name}")


@settings(deadline=None, max_examples=500)
@given(CODE, st.sampled_from([frame for frames in FRAMES.values() for frame in frames]))
def test_what_looks_like_code_is_found_whole_and_nothing_else(code: str, frame: str) -> None:
    assert kept(frame.replace("{}", code)) == [code]


@settings(deadline=None, max_examples=500)
@example("+49 30 1234567", "2024-05-17")
@example("1000-00-00", "00:00:00:00:00:00")
@given(CODE, CODE)
def test_code_beside_code_is_found_whole_and_nothing_else(first: str, second: str) -> None:
    assert "".join(kept(f"Use {first} {second} here.")).replace(" ", "") == (
        first + second
    ).replace(" ", "")


@pytest.mark.parametrize("number", ["{n}", "{0}", "%d", "%1$d", "%.1f", "%s", "${size}"])
@pytest.mark.parametrize("unit", ["kg", "MB", "km/h", "ms", "°C", "m", "USD"])
def test_a_unit_is_kept_with_the_placeholder_of_its_number(number: str, unit: str) -> None:
    for text in ("{}", "Up to {} are used.", "最多{}。"):
        assert kept(text.format(f"{number} {unit}")) == [f"{number} {unit}"]
    for other in ("and", "more", "m'a", "m-x", "Maus", "points"):
        assert kept(f"Up to {number} {other}") == [number]


@pytest.mark.parametrize("factor", ["", "3", "1.5", "6,02"])
@pytest.mark.parametrize("sign", ["×", " × ", "·"])
@pytest.mark.parametrize("power", ["10⁶", "10⁻³", "10¹²", "10⁺⁷"])
def test_a_power_of_ten_is_kept_whole_behind_its_factor(factor: str, sign: str, power: str) -> None:
    written = f"{sign.lstrip()}{power}" if factor else power
    for text in ("It is about {} m.", "约为{}个。", "{}"):
        assert kept(text.format(factor + sign + power if factor else power))[:1] == [written]


@pytest.mark.parametrize("number", ["3e8", "1.5e-3", "6.02E+23"])
def test_a_number_with_an_exponent_is_kept(number: str) -> None:
    for text in ("It is about {} m.", "约为{}米。"):
        assert kept(text.format(number))[:1] == [number]


@pytest.mark.parametrize(
    "text",
    [
        "I am 100% sure that 5% do.",
        "It costs $5 or 10 € (about 7,50 £).",
        "and/or, km/h, 1/2, e.g. this, i.e. that.",
        "Am 24.12.2024 um 18:30 Uhr sind 1.000.000 da.",
        "Mr. Smith vs. U.S. 3:2, p. 12",
        "他/她 好，3.14，第2页",
        "a :D b, yes:no, C# or #1",
        "iPhone, COVID-19, AT&T, Ph.D., Wi-Fi, C++, B2B, MP3s, the 1990s, a 25th, 4x4",
        "A well-known, state-of-the-art and/or he/she 24/7 person with TCP/IP.",
        "die U-21-EM, 24-Stunden-Betrieb, COVID-19-Impfung, 1.000.000.000 oder 2.5.2024",
        "E-Mail-Adresse, Kaffee- und Teetasse, Kanne und -tasse, z.B. u.a., 5-jährig, 1990er",
        "Leser:innen, Mitarbeiter/-innen, LehrerInnen, Freund(in), rot/grün/blau",
        "10-20 or 10%-20%, $5-$10, US$20, -5, +3, 7:30-8:15, 3,5:1, 1.234,50, B-52, 2:1!",
        "He said -- and so did I -- wait...what? *really* _very_ ~nice~ **bold** :-) ;-P <3",
        "it's 'quoted' \"text\" [sic] (a) {see below} 5 < 6 > 4",
        "a <b and c> d",
        "- item * item = x ~ y ^ z | w",
        "http:// user@ www. /",
        "The end.The next one",
        "PCs, CDs, IDs, NPCs, UFOs, PhD, GmbH, AfD, CO2, H2O and a B- or C+. In- und Ausland",
        "Mach mit*innen und Leser_",
    ],
)
def test_ordinary_text_has_nothing_to_keep(text: str) -> None:
    assert kept(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://a.b/c. Or (http://d.e/f_(g)), ok?", ["https://a.b/c", "http://d.e/f_(g)"]),
        ("do_it's, X-Y do_it-Aufruf, @Anna-Lena", ["do_it", "do_it", "@Anna-Lena"]),
        ("'a=b', ('a_b c_d') x='a_b'", ["a=b", "a_b", "c_d", "x='a_b'"]),
        ("[text](https://a.b/c_d) **a_b**", ["https://a.b/c_d", "**a_b**"]),
        ("https://a.b/{c}%20d/%s?x", ["https://a.b/{c}%20d/%s?x"]),
        ("{a}our terms{/a} %sterms%s <0>x", ["{a}", "{/a}", "%s", "%s", "<0>"]),
        ("Hi, **{a}**! *{b}*, **{c} d**, ~~`e`~~", ["**{a}**", "*{b}*", "{c}", "~~`e`~~"]),
        ("%#@files@ in %1$#@folders@, %@", ["%#@files@", "%1$#@folders@", "%@"]),
        ("ls -l or -v, not -x-ray. -I know", ["-l", "-v"]),
        ('with (-n) or "-c"; 用-y选项，-x', ["-n", "-c", "-y", "-x"]),
        ('option %r of %s, "%v" or %q, 5 %r', ["%r", "%s", "%v", "%q", "%r"]),
        ("100%real, 5%very", []),
        ("$5 each, $1m or $1.50; 5 per cent", []),
        ("5 kg, 3.5 km/h, 20 °C, 60 min", ["kg", "km/h", "°C", "min"]),
        ("415 ppm, 25 bps, 30 fps, 300 dpi, 1 mol, 5 pm", ["ppm", "bps", "fps", "dpi", "mol"]),
        ("30x40 cm, 10×15 cm, ax40 cm, 100x100px", ["cm", "cm", "100x100px"]),
        ("2 l, 1.5 L, size L", ["l", "L"]),
        (r"Let \(x \in R\), \(n\), \[a = b\]", [r"\(x \in R\)", r"\(n\)", r"\[a = b\]"]),
        (r"$x^2 > y$ and $$\int_0 x dx$$, $5 or $6", ["$x^2 > y$", r"$$\int_0 x dx$$"]),
        (r"\[Note\] That \(or this\) is $a = 5 or $b", [r"\[", r"\]", "$a", "$b"]),
        (
            "BGH, VI ZR 123/18, (4 StR 12/21) und B 12 KR 5/20 R, I Am 5/20, am 5 B 1/2",
            ["VI ZR 123/18", "4 StR 12/21", "B 12 KR 5/20 R", "I Am 5/20"],
        ),
        (
            "If a > b + c and p < 0.05, n = 24, a + b = c",
            ["a > b + c", "p <", "n = 24", "a + b = c"],
        ),
        ("The car B-MW 300E, AB12 CDE, a T-S 1x", ["B-MW 300E", "AB12 CDE"]),
        ("Is .NET good, or BRK.B and SAP.DE? He met NASA.I", [".NET", "BRK.B", "SAP.DE"]),
        ("It is 1.5e-3, 2E5 or -3e+10, i7-12700K, 3em", ["1.5e-3", "2E5", "-3e+10", "i7-12700K"]),
        ("(Müller et al., 2019), by Cook et al. in 5", ["Müller et al.", "Cook et al."]),
        (
            "48°51'N 2°21.5′E, 48° 51' 24\" N, 5° 3'",
            ["48°51'N", "2°21.5′E", "48° 51' 24\" N", "5° 3'"],
        ),
        ("https://a.b/?q=[x]&r=1#s!", ["https://a.b/?q=[x]&r=1#s"]),
        ("访问https://a.cn/b，谢谢", ["https://a.cn/b"]),
        ("写给a.b@c.cn吧", ["a.b@c.cn"]),
        ("见https://a.cn/路径/b?c=天气。", ["https://a.cn/路径/b?c=天气"]),
        (
            "（http://a.cn/wiki/北京）打开C:\\用户\\a.txt文件",
            ["http://a.cn/wiki/北京", "C:\\用户\\a.txt"],
        ),
        ("保存到 D:\\项目\\文档 目录或C:\\用户，", ["D:\\项目\\文档", "C:\\用户"]),
        ("见https://a.cn/了解更多，https://b.cn/", ["https://a.cn/", "https://b.cn/"]),
        (
            "证件11010519491231002X，卡6222021234567890123。",
            ["11010519491231002X", "6222021234567890123"],
        ),
        ("{h}h {min}m {sec}s, %dh %ds", ["{h}h", "{min}m", "{sec}s", "%dh", "%ds"]),
        ("{size}MB, {n}x; {user}s, {n}th, %sm", ["{size}MB", "{n}x", "{user}", "{n}", "%s"]),
        ("{0}s ago, {}s left, {0}s Haus, {a}s", ["{0}s", "{}s", "{0}", "{a}"]),
        ("Dear [NAME], code [ID2]: ###", ["[NAME]", "[ID2]", "###"]),
        (
            "<!-- Not this --> {n} day|{n} days, [2,*] a|b",
            ["<!-- Not this -->", "{n}", "{n}", "[2,*]", "a|b"],
        ),
        ("<|1|>Good morning. <|im_end|>", ["<|1|>", "<|im_end|>"]),
        ("[MUSIC] plays. [A] # b ## c C### [Red] car", []),
        ("__Note__ and __Note:__ of __name__ and __MAX_A__", ["__name__", "__MAX_A__"]),
        ("12345678 or 1,234,567,890 or 1234567890.5, 12 000 or 12 345 6789", []),
        ('A 15.6" screen', ['15.6"']),
        ('Say "version 14" or 5, a 9" and 10" screen', ['9"', '10"']),
        ('The 3/4" bit, the "big" 1 1/2" pipe', ['3/4"', '1 1/2"']),
        ("It is 8' high and 10' long, 'is 8' or ('5')", ["8'", "10'"]),
        (
            "He is 5'11\" in London SW1A 2AA or York, NY 10016-1, 1AA 2B, 'is 5' and \"no\".",
            ["5'11\"", "SW1A 2AA"],
        ),
        ("See § 6.9, §§3.4.1 and § 5.", ["§ 6.9", "§§3.4.1"]),
        ("§4§lError: §rNo. Und §5, §5a, § a", ["§4§l", "§r"]),
        ("&cNo &6&lThe R&D, Q&As, &Open AT&cUs &open", ["&c", "&6&l"]),
        ('[list ids="1,2" a=b], [see here] [a b] c[/b]', ['[list ids="1,2" a=b]', "[/b]"]),
        ("Write to Ulm, NY 10016, or B1 5AA 3.", ["NY 10016", "B1 5AA"]),
        (
            "We have 1 000 000 or 12\u202f345\u202f678 of them.",
            ["1 000 000", "12\u202f345\u202f678"],
        ),
        (r"{\an8}I'm, \*not\*", [r"{\an8}", r"\*", r"\*"]),
        ("#北京 很美，今天#上海#下雨，C#语言", ["#北京", "#上海#"]),
        ("按#号键或#键，再按 #井号", []),
        ("代码：600519.SH，0700.HK，2024.5", ["600519.SH", "0700.HK"]),
        ("Case 1:23-cv-00456 of 1:23-24", ["1:23-cv-00456"]),
        ("Signed-off-by: Tom, a Stand-by", ["Signed-off-by"]),
        ("Ping 2a01:0:0:0e0:0:0:0:0e0, 3e8", ["2a01:0:0:0e0:0:0:0:0e0", "3e8"]),
        ("The A/C and S/N are on; I/O, A/B and N/A", ["A/C", "S/N"]),
        ("转发 //@新华社:下雨 谢谢@李老师的帮助", ["@新华社", "@李老师"]),
        ("@张三 你好！谢谢@李四，@所有人请注意明天早上开会。", ["@张三", "@李四"]),
        ("on example.com/x.", ["example.com/x"]),
        ("%d%%", ["%d%%"]),
        ("Run:\n$ pip install x\n  $ ./a && b\nand", ["$ pip install x", "$ ./a && b"]),
        ("(env) $ make it\nme@b:~$ cp a b", ["$ make it", "me@b:~$ cp a b"]),
        ("$ 5 or a $ b\n$ 5 of it", []),
        ("at %.4gkHz, %.1eV, %s%s%.2f %%, %PATH%.", ["%.4g", "%.1e", "%s%s%.2f", "%%", "%PATH%"]),
        ("Done.%nGo on%nit, %n items (%n) 5%not", ["%n", "%n", "%n", "%n"]),
        ("100%natural, 20 %natural, %name, (%name)", []),
        (
            "%,d files in %.2fs, %dMB, %dkm %5.1fkg: %b",
            [
                *("%,d", "%.2fs", "%dMB", "%dkm", "%5.1fkg", "%b"),
            ],
        ),
        ("{a}{b} {c}", ["{a}{b}", "{c}"]),
        ("{n, plural, one {a {b}} other {c}}", ["{n, plural, one {a {b}} other {c}}"]),
        ("{n, plural, one {a", []),
        ("{0,choice,0#no|1<{0} files}", ["{0,choice,0#no|1<{0} files}"]),
        ("{% if a %} and {{{b}}}", ["{% if a %}", "{{{b}}}"]),
        ("Use '{'name'}' or '{', it's '{name}'", ["'{'name'}'", "'{'", "{name}"]),
        ("2024-05-17T10:00:00Z, CVE-2024-1", ["2024-05-17T10:00:00Z", "CVE-2024-1"]),
        ("on 2024-05-17 10:00 or 12", ["2024-05-17 10:00"]),
        ("Tom &amp; Ann &#39;", ["&amp;", "&#39;"]),
        ("an iPhone, eBay and McDonald", []),
        ("⟦3⟧ and ⟦ this ⟧", ["⟦3⟧", "⟦", "⟧"]),
        ("a\ufffdb \ufffc", ["\ufffd", "\ufffc"]),
        ("```a b``` and ``c`d``", ["```a b```", "``c`d``"]),
        ("8 oz or 3.4 fl oz at 60 mph, 65 bpm", ["oz", "fl oz", "mph", "bpm"]),
        ("120/80 mmHg, 20 Mbit/s, an oz", ["mmHg", "Mbit/s"]),
        ("Card 4111 1111 1111 1111 or 2019 2020.", ["4111 1111 1111 1111"]),
        ("账号6222 0212 3456 7890 123。", ["6222 0212 3456 7890 123"]),
        ("It takes 10 kg-20 kg or 10kg-20kg.", ["kg", "kg", "kg", "kg"]),
        ("500g, 5l, 12V, 3.5h, 1.500m, 100m, 2.5x or 36,6C", [*"glVhmmxC"]),
        ("$1.5m, EUR 2.5m, 10m people, the 80s, 3h in class 4A", []),
        ("It is A0AA-00MW-0000 or 00MW-AB12-34KB.", ["A0AA-00MW-0000", "00MW-AB12-34KB"]),
        ("see a" + "\u0301" * 5000 + " here", ["a" + "\u0301" * 5000]),
        ("x\u0301\u0302\u0303\u0304\u0305yz now", ["x\u0301\u0302\u0303\u0304\u0305yz"]),
        ("h\u0336e\u0336l\u0336p\u0336 me", ["h\u0336e\u0336l\u0336p\u0336"]),
        ("cafe\u0301 Vie\u0323\u0302t na\u0303o ที่นี่ हिन्दी עִבְרִית", []),
    ],
)
def test_what_must_stay_ends_where_the_sentence_goes_on(text: str, expected: list[str]) -> None:
    assert kept(text) == expected


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from("*×•●"),
    st.from_regex(r"\A(?:[0-9]{2,6}m{4,9}[0-9]{2,4}|([0-9]{4} |m{4} ){0,2}m{4} [0-9]{4})\Z"),
    st.sampled_from(["Call {} now.", "号码{}已注册。", "密码：{}", "({}) is it", "{}"]),
)
def test_a_masked_number_is_kept_whole(sign: str, masked: str, frame: str) -> None:
    number = masked.replace("m", sign)
    assert kept(frame.format(number)) == [number]


@settings(deadline=None, max_examples=200)
@given(
    st.from_regex(r"\A[1-9][0-9]?[a-z]?\Z"),
    st.from_regex(r"\A(?:\([1-9]{1,2}\)){0,2}\((?:[a-zA-Z]|[ivx]{2,4})\)\Z"),
    st.sampled_from(["See Art. {} GDPR.", "Nach § {}, Satz 1", "第{}条", "{}"]),
)
def test_the_parts_of_a_section_are_kept(number: str, section: str, frame: str) -> None:
    assert kept(frame.format(number + section)) == [section]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第六条(1)(a) of 6(4), the word(s) in 10(ten) of f(x)", ["(1)(a)"]),
        ("in 4.2(b)(ii), 12.1(1)(a), 1.234(5) m, 4.2 (b)", ["4.2(b)(ii)", "12.1(1)(a)"]),
        ("DOI: 10.1000/182, 10.5/2.", ["10.1000/182"]),
        (
            "030 1234567, 0171-2345678, 030 / 12 34 56-78, 0123 of 01/2024, 007 1, 030 1.234",
            ["030 1234567", "0171-2345678", "030 / 12 34 56-78"],
        ),
        (
            "(555) 123-4567, (030) 12 34 56-78, (2020) 1234567 or (100) 200, （010）12345678",
            ["(555) 123-4567", "(030) 12 34 56-78"],
        ),
        ("国发〔2026〕15号", ["〔2026〕15"]),
        ("BIC: COBADEFFXXX or BIC DEUTDEFF", ["COBADEFFXXX", "DEUTDEFF"]),
        ("ABCDE-FGHIJ-KLMNO or STATE-OF-THE-ART", ["ABCDE-FGHIJ-KLMNO"]),
        ("The code is SUMMERSALE, not PLATFORM", ["SUMMERSALE"]),
        ("My booking QZKLMNXX is SO STRANGE", ["QZKLMNXX"]),
        ("USA 3 – 2 Canada, SWE 3-1 FIN", ["USA", "SWE", "FIN"]),
        (
            "Hauptstr. 12a, Karl-Marx-Allee 5, Landsberger Straße 12-14 und Rosengasse 3.",
            ["Hauptstr. 12a", "Karl-Marx-Allee 5", "Landsberger Straße 12-14", "Rosengasse 3"],
        ),
        ("Die Straße 5, Hohe Straße 7", ["Hohe Straße 7"]),
        (
            "3 p.m. EST, 15:00 Uhr MEZ, 5 GMT+2 or 20:45 CET (2:45pm ET)",
            ["EST", "MEZ", "GMT+2", "CET", "ET"],
        ),
        ("USB-C and USB-C-Kabel, not T-DO or BE-IN", ["USB-C", "USB-C"]),
        ("15 ET, CET, at GMT, 5 CETs", []),
        ("Sie wohnt in der Goethestr. 5. Er in der Domstrasse 7", ["Goethestr. 5", "Domstrasse 7"]),
        (
            "Die Hauptstraße ist 5 Meter lang, Bundesstraße 5, Straße 5, Allee 3, Hauptstraße 3,5",
            [],
        ),
        ("MUC 10:15 – LAX 13:30, SAT 10:15, the USA 5 times", ["MUC", "LAX"]),
    ],
)
def test_identifiers_in_capitals_stay(text: str, expected: list[str]) -> None:
    assert kept(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("密码是******。验证码：####，张**先生", ["******", "####", "**"]),
        (
            "Card xxxx-xxxx-xxxx-1234 of account *1234, a f**k",
            ["xxxx-xxxx-xxxx-1234", "*1234", "f**k"],
        ),
        ("Say ***** or XXXX XXXX 1234.", ["*****", "XXXX XXXX 1234"]),
        ("**5 apples** since **2024** or **May 2024**, 5 **big** ones", []),
        ("*2024 is* it, 5 * 3, 5 × 3 × 2, un**believ**able", []),
        ("** Note **", []),
        ("Note ***", []),
    ],
)
def test_asterisks_that_mask_stay_and_those_of_emphasis_do_not(
    text: str, expected: list[str]
) -> None:
    assert kept(text) == expected


@given(
    st.text("ab, 蓝", max_size=20), st.lists(st.text("ab, 蓝", min_size=1, max_size=4), max_size=5)
)
def test_every_place_of_a_string_of_the_request_is_kept(text: str, keep: list[str]) -> None:
    def is_inside_word(place: int) -> bool:
        return 0 < place < len(text) and text[place - 1] in "ab" and text[place] in "ab"

    expected = {
        place
        for string in keep
        for start in range(len(text))
        if text.startswith(string, start)
        and not (is_inside_word(start) or is_inside_word(start + len(string)))
        for place in range(start, start + len(string))
    }
    assert {at for span in find_kept(text, KeptStrings(keep)) for at in range(*span)} == expected


@given(CODE)
def test_a_term_wins_over_the_rule_for_code_but_not_over_the_request(code: str) -> None:
    text = f"Use {code} now."
    terms = [Span(4, 4 + len(code))]
    assert find_kept(text, terms=terms) == []
    assert find_kept(text, KeptStrings([code]), terms=terms) == terms
    assert find_kept(text, terms=[Span(4, 5)]) == find_kept(text)


def test_a_string_occurs_as_a_word() -> None:
    assert (occurs("in", "he is in"), occurs("in", "inside")) == (True, False)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"{}%$:@#/\\`<>&;_[]()⟦⟧.-~ aZ9\n'\"", "://", "www.", "{a,plural,"])
    ).map("".join)
)
def test_spans_are_in_order_and_do_not_touch(text: str) -> None:
    spans = find_kept(text, KeptStrings(["a", "Z9"]))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end < b.start for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize("level", ["ERROR", "INFO", "WARN"])
def test_the_level_of_a_log_and_the_stars_of_a_hotel_are_kept(level: str) -> None:
    assert kept(f"[{level}] Disk full") == [f"[{level}]"]
    assert kept("[LAUGHS] No") == []
    for stars in ("***", "****", "*****"):
        assert kept(f"Hotel Bella Vista{stars} in Rom") == [stars]
        assert kept(f"Das {stars}Hotel Adler{stars} in Rom") == []


@pytest.mark.parametrize("code", ["22.110.B", "1.23.C", "10.20.30.D"])
def test_numbers_with_points_before_a_letter_are_a_code(code: str) -> None:
    assert kept(f"Maschine ECAM {code} hier") == [code]
    assert kept("Am 24.12.Das ist") == []
