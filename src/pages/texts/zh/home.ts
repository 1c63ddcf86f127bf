/** 首页的文字。 */
import type { home as english } from '../en/home.ts'

export const home: typeof english = {
  title: '{brand}：一个密钥，用上所有模型',
  description:
    '会员制模型服务：兼容 OpenAI 与 Anthropic SDK 的接口、面向智能体的联网搜索、图像生成与网页对话。模型出错，当次不计费。',
  eyebrow: '会员与模型接口',
  headline: '一个密钥，用上所有模型。',
  lead: '可以在网页里对话，也可以让编辑器、智能体或 SDK 连接同一个地址。一份套餐全部覆盖；因服务端出错而失败的消息，从不计入用量。',
  start: '免费开始',
  open: '打开对话',
  readDocs: '阅读文档',
  example: {
    label: '对话示例',
    question: '怎样撤销上一次提交，但保留改动？',
    answer: '把分支退回一个提交，改动仍保留在暂存区：',
    after: '用 git status 确认，然后重新提交。',
    foot: '输入 412 token，输出 96 · {credits} 点',
    composer: '输入你的问题',
    usageLabel: '用量页示例',
    usageTitle: '今日的高级消息已用 61%。',
    resets: '7 小时后重置',
    requestLabel: '用 curl 发出的一次请求及其回答',
  },
  terminalAsk: '用五个字打个招呼。',
  terminalAnswer: '很高兴见你。',
  terminalNote: '同一地址也支持 OpenAI 与 Anthropic 官方 SDK',
  points: [
    { title: '失败不计费', text: '每条消息先预留点数，结束后再结算。模型出错时，预留的点数原数退回，并在错误信息里写明。' },
    {
      title: '一个地址，接入你的工具',
      text: '对话补全、Responses、Messages、图像，以及 MCP 搜索工具。编辑器、智能体和 SDK 只需填写地址与密钥。',
    },
    { title: '明明白白', text: '每笔扣费都在账户页中列出，并附请求编号，精确到每一点。' },
  ],
  worksTitle: '适配你常用的工具',
  worksLead: '下列工具在文档中各有一页，配置可直接粘贴。',
  insideTitle: '用量一目了然',
  insideText: '账户页显示今日、本周和本月的余量，以及每条消息的 token 与点数。到达上限之前会先提醒。',
  apiTitle: '只差一次请求',
  apiText: '换上地址与密钥，原有代码照常运行。流式输出、工具、图像与 JSON schema 均可使用。',
  plan: '套餐',
  comparePlans: '比较套餐',
  plansCaption: '每日消息数（约）',
  plansLead: '每个套餐按日、周、月计算消息数，网页对话、应用、命令行与接口合并计算。',
  modelsTitle: '模型与价格',
  modelsLead: '套餐按今日价格扣除：标价减去折扣。',
  model: '模型',
  tier: '档位',
  context: '上下文',
  input: '输入',
  cachedInput: '缓存输入',
  output: '输出',
  perMillion: '每百万 token 的价格（美元），划线为折扣前的标价',
  light: '快速',
  flagship: '高级',
  discount: '优惠 {percent}%',
  listPrice: '标价',
  questionsTitle: '常见问题',
  questions: [
    {
      question: '怎样算一条消息？',
      answer:
        '模型的一次回答，无论从哪里提问。套餐以点数计量，对话越长消耗越多；套餐页的数字按输入 3,000、输出 1,000 个 token 的消息估算。',
    },
    {
      question: '套餐用完后会怎样？',
      answer: '会告诉你何时重新开始，不会超额扣费。另一档位的模型在有余量时仍可使用，加油包在套餐用完后自动使用。',
    },
    {
      question: '失败的消息要付费吗？',
      answer: '不用。模型或服务出错时，点数会在你看到错误之前退回。如果你主动停止回答，只计已写出的部分。',
    },
    {
      question: '可以使用哪些程序？',
      answer:
        '凡是支持 OpenAI 的对话补全或 Responses，或 Anthropic 的 Messages，并能设置地址的程序都可以。文档中有我们测试过的工具的配置。',
    },
    {
      question: '我的对话保存在哪里？',
      answer: '网页对话保存在你的浏览器中。服务端只保存每条消息的模型、token 数、时间等数据，不保存问题和回答。',
    },
    { question: '可以随时离开吗？', answer: '可以。在账户页注销账户，邮箱、登录状态与密钥会立即删除。' },
  ],
  endTitle: '一分钟后，就能发出第一条消息。',
  endText: '只需邮箱和六位验证码，无需银行卡。',
}
