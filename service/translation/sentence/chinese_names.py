"""Chinese names as English writes them: those with numerals, of which networks make numbers, the
parties of a contract, and family names before a title."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from service.translation.language.chinese import to_simplified
from service.translation.sentence.replaced import Replacement

_NAMES = {
    "张三": "Zhang San",
    "李四": "Li Si",
    "王五": "Wang Wu",
    "赵六": "Zhao Liu",
    "孙七": "Sun Qi",
    "一国两制": "one country, two systems",
    "一带一路": "the Belt and Road",
    "七台河": "Qitaihe",
    "三亚": "Sanya",
    "三字经": "the Three Character Classic",
    "三国演义": "Romance of the Three Kingdoms",
    "三明": "Sanming",
    "三江源": "Sanjiangyuan",
    "三清山": "Mount Sanqing",
    "三门峡": "Sanmenxia",
    "三峡": "the Three Gorges",
    "九一八事变": "the Mukden Incident",
    "九寨沟": "Jiuzhaigou",
    "九江": "Jiujiang",
    "九龙": "Kowloon",
    "二维码": "QR code",
    "二连浩特": "Erenhot",
    "二锅头": "Erguotou",
    "五一假期": "the May Day holiday",
    "五台山": "Mount Wutai",
    "五险一金": "social insurance and housing fund",
    "五四运动": "the May Fourth Movement",
    "五指山": "Wuzhishan",
    "五粮液": "Wuliangye",
    "五菱": "Wuling",
    "八路军": "the Eighth Route Army",
    "六一儿童节": "Children's Day",
    "六味地黄丸": "Liuwei Dihuang Pills",
    "六安": "Lu'an",
    "六盘水": "Liupanshui",
    "十四五规划": "the 14th Five-Year Plan",
    "十堰": "Shiyan",
    "千岛湖": "Qiandao Lake",
    "双十一": "Singles' Day",
    "双鸭山": "Shuangyashan",
    "四书五经": "the Four Books and Five Classics",
    "四平市": "Siping",
    "百色市": "Baise",
    "三八妇女节": "Women's Day",
    "甲乙双方": "both parties",
    "甲、乙双方": "both parties",
    "甲方": "Party A",
    "乙方": "Party B",
    "丙方": "Party C",
    "丁方": "Party D",
}
_NUMERAL = "零〇一二三四五六七八九十百千万亿"
_IN_NUMBER = f"第年月点时周期拜初几数{_NUMERAL}"
_NAME = regex.compile(
    rf"(?<![\d{_IN_NUMBER}])(?:{'|'.join(_NAMES)})"
    rf"(?!(?<=三亚)[洲军]|(?<=三明)治|(?<=六安)[排装全静心定置检]|(?<=九龙)[池壁十潭山江沟寺坡]"
    rf"|(?<=张三)丰|(?<=李四)光|(?<=[三四五六七](?<=[张李王赵孙].))[岁月年个天点届{_NUMERAL}])"
    r"(?<!小三峡|QR\s?二维码|[装盔铠指补园].方)(?!(?<=[甲乙丙丁]方)[向案式法便针块格])"
)
_SURNAMES = dict(
    regex.findall(
        r"(\p{Han}+)(\p{Latin}+)",
        """
        王Wang 李Li 张Zhang 刘Liu 陈Chen 杨Yang 黄Huang 赵Zhao 吴Wu 周Zhou 徐Xu 孙Sun 马Ma 朱Zhu
        胡Hu 郭Guo 何He 林Lin 罗Luo 高Gao 郑Zheng 梁Liang 谢Xie 宋Song 唐Tang 许Xu 韩Han 冯Feng
        邓Deng 曹Cao 彭Peng 曾Zeng 肖Xiao 萧Xiao 田Tian 董Dong 袁Yuan 潘Pan 蒋Jiang 蔡Cai 余Yu
        杜Du 叶Ye 程Cheng 苏Su 魏Wei 吕Lü 丁Ding 沈Shen 姚Yao 卢Lu 姜Jiang 崔Cui 钟Zhong 谭Tan
        陆Lu 汪Wang 范Fan 金Jin 石Shi 廖Liao 贾Jia 夏Xia 韦Wei 傅Fu 方Fang 白Bai 邹Zou 孟Meng
        熊Xiong 秦Qin 邱Qiu 江Jiang 尹Yin 薛Xue 闫Yan 段Duan 雷Lei 侯Hou 龙Long 史Shi 陶Tao 黎Li
        贺He 顾Gu 毛Mao 郝Hao 龚Gong 邵Shao 万Wan 钱Qian 严Yan 戴Dai 莫Mo 孔Kong 汤Tang 欧阳Ouyang
        司马Sima 诸葛Zhuge 上官Shangguan
        """,
    )
)
_TITLES = {
    "先生": "Mr",
    "女士": "Ms",
    "小姐": "Miss",
    "太太": "Mrs",
    "教授": "Professor",
    "博士": "Dr",
    "医生": "Dr",
    "律师": "Attorney",
    "经理": "Manager",
    "主任": "Director",
    "老师": "Teacher",
}
_DEAR = "尊敬的|敬爱的|亲爱的"
_TITLED = regex.compile(
    rf"(?:^(?P<dear>{_DEAR}))?(?:(?<!\p{{Han}})|(?<=[是的和与跟给找让叫位及请问谢]))"
    rf"(?P<surname>{'|'.join(_SURNAMES)})(?P<title>{'|'.join(_TITLES)})(?!们)"
)
_GREETING = regex.compile(rf"^(?:{_DEAR})(?=[^，。！？：:,!?]{{1,20}}[：:，,]\s*$)")
_MAY_NAME = re.compile("|".join([*_NAMES, *_TITLES, _DEAR]))


def may_name_in_chinese(text: str) -> bool:
    """Whether a text in simplified characters may have such names, or begin with a greeting."""
    return _MAY_NAME.search(text) is not None


def find_chinese_names(text: str) -> Iterator[Replacement]:
    """Those of a text, and the beginning of a letter, in their order. Linear time."""
    text = to_simplified(text)
    titled = [Replacement(*one.span(), _titled(one)) for one in _TITLED.finditer(text)]
    if not titled:
        titled = [Replacement(*one.span(), "Dear") for one in _GREETING.finditer(text)]
    names = (Replacement(*one.span(), _NAMES[one.group()]) for one in _NAME.finditer(text))
    yield from sorted([*titled, *names])


def _titled(found: regex.Match[str]) -> str:
    dear = "Dear " if found["dear"] else ""
    return f"{dear}{_TITLES[found['title']]} {_SURNAMES[found['surname']]}"
