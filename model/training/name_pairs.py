"""Pairs with Chinese names in place of the names of textbooks.

Of people, a small corpus knows only Tom and Mary, so a model translates other names as words:
王伟 becomes "king". Names are in Pinyin without tones on the other side.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from model.training.alignment import Pair
from model.training.gaps import Gap, base_languages, gap_at

_REPLACED_NAMES = (
    ("汤姆", "Tom", ("先生", "Mr.")),
    ("玛丽", "Mary", ("女士", "Ms.")),
    ("约翰", "John", ("先生", "Mr.")),
)
_WHOLE_CHINESE = r"(?<![圣·]){}(?!\s*[·•．・‧A-Za-z-])"
_WHOLE_ENGLISH = r"(?<!St )(?<!Saint )(?<!St\. )\b{}\b(?![-\s]+[A-Z])"
"""Not a part of a longer name."""
_TITLE_SHARE, _TWO_CHARACTERS_SHARE = 0.25, 0.6
_SURNAMES = re.findall(
    r"(\w):(\w+)",
    "王:Wang 李:Li 张:Zhang 刘:Liu 陈:Chen 杨:Yang 赵:Zhao 黄:Huang 周:Zhou 吴:Wu 徐:Xu 孙:Sun "
    "胡:Hu 朱:Zhu 高:Gao 林:Lin 何:He 郭:Guo 马:Ma 罗:Luo 梁:Liang 宋:Song 郑:Zheng 谢:Xie "
    "韩:Han 唐:Tang 冯:Feng 董:Dong 程:Cheng 曹:Cao 袁:Yuan 邓:Deng 许:Xu 傅:Fu 沈:Shen "
    "彭:Peng 吕:Lü 苏:Su 卢:Lu 蒋:Jiang 蔡:Cai 贾:Jia 丁:Ding 魏:Wei 薛:Xue 叶:Ye 余:Yu 潘:Pan "
    "杜:Du 戴:Dai 夏:Xia 钟:Zhong 汪:Wang 田:Tian 任:Ren 姜:Jiang 范:Fan 方:Fang 石:Shi 姚:Yao "
    "谭:Tan 廖:Liao 邹:Zou 熊:Xiong 金:Jin 陆:Lu 郝:Hao 孔:Kong 白:Bai 崔:Cui 康:Kang 毛:Mao "
    "邱:Qiu 秦:Qin 江:Jiang 史:Shi 顾:Gu 侯:Hou 邵:Shao 孟:Meng 万:Wan 钱:Qian 严:Yan 武:Wu",
)
_GIVEN = re.findall(
    r"(\w):(\w+)",
    "伟:wei 芳:fang 娜:na 敏:min 静:jing 丽:li 强:qiang 磊:lei 军:jun 洋:yang 勇:yong 艳:yan "
    "杰:jie 娟:juan 涛:tao 明:ming 超:chao 秀:xiu 霞:xia 平:ping 刚:gang 桂:gui 英:ying 华:hua "
    "玉:yu 萍:ping 红:hong 玲:ling 芬:fen 燕:yan 彬:bin 凤:feng 洁:jie 梅:mei 琳:lin 兰:lan "
    "莉:li 辉:hui 波:bo 斌:bin 宇:yu 浩:hao 凯:kai 健:jian 俊:jun 帆:fan 鑫:xin 鹏:peng 飞:fei "
    "婷:ting 雪:xue 慧:hui 莹:ying 颖:ying 倩:qian 佳:jia 欣:xin 怡:yi 晨:chen 晓:xiao 小:xiao "
    "建:jian 国:guo 志:zhi 文:wen 海:hai 春:chun 东:dong 峰:feng 龙:long 林:lin 云:yun "
    "新:xin 成:cheng 永:yong 德:de 思:si 梦:meng 子:zi 雨:yu 天:tian 家:jia 宁:ning 安:an "
    "博:bo 然:ran 瑞:rui 诗:shi 月:yue 嘉:jia 立:li 振:zhen 清:qing 爱:ai 美:mei 庆:qing "
    "祥:xiang 荣:rong",
)


class NameGap(NamedTuple):
    gap: Gap
    chinese_side: int
    title: tuple[str, str]
    """What follows a surname in Chinese and precedes it in English."""


def name_gaps(pairs: Sequence[Pair], languages: tuple[str, str]) -> list[NameGap]:
    """The pairs that have one of the names once on each side; none unless the languages are
    Chinese and English."""
    bases = base_languages(languages)
    if set(bases) != {"zh", "en"}:
        return []
    side = bases.index("zh")
    return [named for pair in pairs if (named := _name_gap(pair, side))]


def with_chinese_name(named: NameGap, rng: random.Random) -> Pair:
    """The pair with a random name, or with a surname and a title."""
    chinese, romanised = random_name(rng)
    if rng.random() < _TITLE_SHARE:
        after, before = named.title
        surname, pinyin = rng.choice(_SURNAMES)
        chinese, romanised = surname + after, f"{before} {pinyin}"
    both = (chinese, romanised) if named.chinese_side == 0 else (romanised, chinese)
    return named.gap.filled(*both)


def random_name(rng: random.Random) -> tuple[str, str]:
    """A surname and one or two given characters -> ("李小明", "Li Xiaoming")."""
    surname, pinyin = rng.choice(_SURNAMES)
    given = rng.sample(_GIVEN, 2 if rng.random() < _TWO_CHARACTERS_SHARE else 1)
    spelled = "".join(sound for _, sound in given).capitalize()
    return surname + "".join(character for character, _ in given), f"{pinyin} {spelled}"


def _name_gap(pair: Pair, chinese_side: int) -> NameGap | None:
    chinese, english = pair[chinese_side], pair[1 - chinese_side]
    for name, theirs, title in _REPLACED_NAMES:
        ours = re.search(_WHOLE_CHINESE.format(name), chinese)
        others = re.search(_WHOLE_ENGLISH.format(theirs), english)
        if ours and others and chinese.count(name) == english.count(theirs) == 1:
            matches = (ours, others) if chinese_side == 0 else (others, ours)
            return NameGap(gap_at(pair, matches), chinese_side, title)
    return None
