/** @type {typeof import("./en.js").default} */
export default {
  theme: "配色", themeSystem: "跟随系统", themeLight: "浅色", themeDark: "深色", interfaceLanguage: "界面语言", title: "翻译文本",
  languages: "语言", from: "源语言", to: "目标语言", detect: "自动检测", swap: "交换语言",
  detected: "检测到：{language}（{confidence}）", pivot: "经由{language}：{text}", sourceText: "要翻译的文本",
  sourcePlaceholder: "输入或粘贴文本", translation: "译文", count: "{count} / {most}", clear: "清空", copy: "复制",
  share: "复制链接", join: "合并换行", copied: "已复制。", linkCopied: "链接已复制，其中包含原文。", notCopied: "浏览器不允许复制，请手动选中文本。",
  alternatives: "其他译文", more: "关于此译文", tabSentences: "句子", tabRequest: "请求", tabHistory: "历史", tabOptions: "选项",
  tabEngine: "引擎", noSentences: "翻译一段文字，查看模型对每个词的把握。", wordSure: "“{word}”：此类词有 {share} 与人工译文一致。",
  wordDoubtful: "“{word}”把握不大：此类词只有 {share} 与人工译文一致。", wordLikely: "“{word}”：模型给出的概率为 {share}。",
  wordUnlikely: "“{word}”把握不大：模型给出的概率只有 {share}。", counterpart: "对应原文：{words}。", tabGlossary: "术语表",
  tabModel: "模型", chooseFile: "翻译文件", plain: "去除格式", key: "API 密钥", useKey: "使用此密钥",
  keyNeeded: "此服务器需要 API 密钥。密钥保留到您关闭此标签页为止。", keyInvalid: "服务器不认识此密钥。", partMissing: "页面的这一部分无法加载，请重试。",
  apiDocs: "API 文档", retry: "立即重试", tooLong: "文本过长：{count} 个字符，最多允许 {most} 个。", tooLarge: "文本对服务器来说太大。",
  offline: "您已离线。连接恢复后将继续翻译。", unreachable: "无法连接服务器。{when}重试。", restarting: "服务器正在重启。{when}重试。",
  lost: "连接已断开。{when}重试。", busy: "服务器繁忙。{when}重试。", limited: "服务器提示：{reason}。{when}重试。", slow: "服务器繁忙或正在加载模型。",
  failed: "服务器拒绝了请求：{reason}", notOffered: "这似乎是{language}，此处不支持。", sameLanguage: "原文已经是{language}。", listen: "朗读",
  noLanguages: "无法加载语言列表。{when}重试。", now: "立即", inSeconds: "{seconds} 秒后",
};
