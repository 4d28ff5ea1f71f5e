"""Whether a sentence may have words or numbers that need a stage: one cheap look for the many that
have none."""

from __future__ import annotations

import re

from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.sentence.abbreviations import LONE

_ALONE = re.compile(rf"(?:{LONE})\.|\w+[^\w\s']\S*\.")
"""An abbreviation that is all of a text, as Std. and z.B."""
_CAPITAL, _SMALL = "A-ZÀ-ÖØ-Þ", "a-zß-ÿ"
_JOINED = rf"(?<=[{_SMALL}][,:&])[{_SMALL}A-Z]"
"""Words that a sign joins."""
_LATIN = re.compile(
    rf"[{_CAPITAL}\d.,:&*_·(\-–—⟧](?:(?<=[.,])[-,;:!?…–)\]]"
    rf"|(?<=[{_CAPITAL}])(?:[{_CAPITAL}]|[a-z]{{1,9}}\.?\s?[-–+&]\s?[DFMSTW][a-z]{{1,9}}\b"
    r"|(?:on|ue|ed|hu|ri|at|un|[aior])[a-z]{0,2}\.?,\s[DFMSTW][a-z]{1,4}\b"
    rf"|[a-z]{{1,4}}[,:]?\s(?:[\d⟦]|[Cc]losed\b|[{_CAPITAL}][a-z]{{2,8}}\s\d)"
    r"|[a-z]\.?:?\s(?:geschlossen|zu|Ruhetag)\b)"
    r"|(?:(?<=[\d⟧]\s\w\w\.)|(?<=[\d⟧]\s\w{3}\.)|(?<=[\d⟧]\s\w{4}\.)|(?<=[\d⟧]\s\w\.\w\.))\Z"
    r"|(?<=[a-z]\s[DFMSTW])(?:(?<=M)on?|(?<=T)(?:ues?|hu(?:rs?)?)|(?<=W)ed|(?<=F)ri?"
    r"|(?<=S)(?:at?|un)|(?<=[DM])i|(?<=[bmnst]\s[DS])o)\b"
    rf"|{_JOINED}|(?<=[{_SMALL}][*:_·(])-?[einrms]|(?<=[{_SMALL}]I)n"
    rf"|(?<=[A-Za-z]\.\d)|(?<=\d\.[{_CAPITAL}])"
    r"|(?<=\d-)[a-z]{3}|(?<=\d[snrt][tdh]-)[a-z]|(?<=[a-z]—)[A-Za-z]|(?<=J)änner|(?<=F)eber\b"
    r"|(?<=[\d⟧]) (?:out )?of [\d⟦]|(?<=\d)\s?(?:Uhr\b|h(?:rs?\b|\s?\d))"
    r"|(?:(?<=[-–—]\d)|(?<=[-–—]\d\d)|(?<=[-–—]\s\d\d))\s?h\b"
    r"|(?<=[\d⟧])\s?(?:[Tt](?:sp|bs|ea|ab)|lbs?\b|ft\b|in\b|pcs\b|pts\b|ounce|gal|yd|-?inch|-foot|feet"
    r"|(?:degrees? )?[CF](?:\b|elsius|ahrenheit)|Essl|Teel|Prise)"
    r"|(?<=\d)(?:[.,'’]\d|(?:[dhkKmMbBsw]|bn)\b|\s?(?:sec|wk|yr)s?\b|\s?[APap]\.?\s?[Mm]\b))"
)
"""Two capitals, what may be two days or an abbreviation, a point that ends no sentence, words that
a sign joins, words for any gender, or an hour."""
_NUMERAL, _BEFORE_TIME = "一二三四五六七八九十", "午上里夜早晚晨一二三四五六日天号"
_CHINESE = re.compile(
    rf"[{_CAPITAL}\d⟧·・元.,:：&(（\-−–～〜~—下折点时分钟块比米万亿千百十克升瓦伏匙勺成战年纪多余几零共二三四五六七八九壹贰叁参肆伍陆柒捌玖秒拔](?:(?<=[{_CAPITAL}])[{_CAPITAL}]|{_JOINED}"
    r"|(?<=[壹贰叁参肆伍陆柒捌玖])[拾佰仟万亿元圆角]|(?<=\d秒)\d|(?<=海拔)\s?[\d⟦]|(?<=年)\s?0[1-9]月"
    r"|(?<=共)计?\s?[\d⟦]|(?<=[\d⟧])\s?(?:个月|[年周天]零?[\d⟦])|(?<=[年月周天]零)[\d⟦一二两三四五六七八九十]|(?<=公元)[前\d一二三四五六七八九十]|(?<=\d[·・])\d|(?<=[一-鿿][-−])\d|(?<=零下)|(?<=\d)[.,]\d"
    rf"|(?<=[{_NUMERAL}\d ]折)|(?<=[{_NUMERAL}两零〇百千万亿\d]点)[{_NUMERAL}半零\d]"
    rf"|(?<=[{_NUMERAL}两]成)|(?<=[一二]战)|(?<=[{_NUMERAL}两〇零]年)|(?<=十年)代|(?<=世纪)"
    rf"|(?<=[一二三四五六七八两][二三四五六七八九])|(?<=[一两二三]米)[{_NUMERAL}]"
    rf"|(?<=[{_NUMERAL}百千两\d]块)[\d{_NUMERAL}]|(?:(?<=\d比)|(?<=\d\s比))\s?\d|(?<=[以为][{_NUMERAL}零]比)[{_NUMERAL}零]"
    rf"|(?<=[{_NUMERAL}百千两毫\d ][克升瓦伏])|(?<=[千平]米)|(?<=[(（])[{_NUMERAL}]{{1,3}}[)）]"
    rf"|(?:(?<=第\d)|(?<=第 \d))\d{{0,3}}\s?[届次个名位任本代]"
    rf"|(?<=第十)[{_NUMERAL}]|(?<=第[{_NUMERAL}][十百])"
    rf"|(?<=第[{_NUMERAL}]千)|(?<=[\d⟧][汤茶大小][匙勺])|(?<=[\d⟧] [汤茶大小][匙勺])"
    r"|(?<=[\d⟧])\s?[摄华]氏度|(?<=[每个個本这這当當上下次]月\d)|(?<=月[ 的]\d)"
    r"|(?<=[近约达逾满过足低高超到于]万)[^万亿，。]|(?<=\d点)半?\s?[-–—~～至到]"
    rf"|(?:(?<=[{_BEFORE_TIME}]\d)|(?<=[{_BEFORE_TIME}]\d\d))[:：]|(?<=\d)(?:[至到]\d|[～〜—])"
    r"|(?:(?<=小时)|(?<=\d分)|(?<=分钟)|(?<=\d米)|(?<=\d千))\d|(?<=\d[万亿])[\d零]|(?<=[几数][万亿])|(?<=[几数][十百千][万亿])|(?<=\d[-–~])\d{1,4}(?:\.\d{1,2})?[百千]?[万亿]|(?<=[\d日号月年点分][～〜—])\d"
    rf"|(?<=[%％][~～〜—])[\d⟦]|(?<=[{_NUMERAL}百千万亿两零〇\d][多余])|(?<=十几)"
    rf"|(?<=[\d{_NUMERAL}]时)|(?<=[晨上午早][{_NUMERAL}两]点)|(?<=[晨上午早]十[一二]点)"
    rf"|(?<=[早晚][\d二三四五六七八九])[\d点时:：]|(?<=[早晚][一两十]点)|(?<=[早晚]十[一二]点)"
    r"|(?<=\d：)\d|(?<=:\d\d[~–])\d|(?<=0\d:)\s?\d|(?<=\d点)\d|(?<=\d[-–—~～至到]\d)\d?月|(?<=月[-–—~～至到]\d)"
    rf"|(?<=[{_NUMERAL}日天][-–—~〜～])[周星礼])"
)
"""Two capitals, words that a sign joins, or a number that is taken for another."""


def has_odd_words(text: str, language: str) -> bool:
    """Whether there may be words in capitals, joined ones, abbreviations, days, or numbers that go
    in otherwise."""
    is_word = text.endswith(".") and " " not in text and _ALONE.fullmatch(text) is not None
    has_some = is_word or "/" in text or ". " in text or has_spoken_numbers(text, language)
    pattern = _CHINESE if language == "zh" else _LATIN
    return has_some or pattern.search(text) is not None
