/** The commands of the hosted service and of the command line itself. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { createCompletionEntry, createManEntry } from '../../command-table/program-entries.ts'
import { clientIds } from '../../setup/client-ids.ts'
import type { Command, CommandSpec } from '../command.ts'

const model = defineText('model <id>', { en: 'a product model id of svc models', zh: 'svc models 中的模型 ID' }, { short: 'm' })

const login: Command = {
  name: 'login',
  summary: { en: 'sign in from this terminal', zh: '在终端中登录' },
  description: {
    en: 'Prints an address and a code. Open the address in a browser on any device, sign in, compare the code and approve. The session is kept in a file only you can read, for this site alone.',
    zh: '显示一个地址和一个设备码。在任意设备的浏览器中打开该地址，登录、核对设备码并批准。登录状态保存在仅你可读的文件中，且只用于该站点。',
  },
  examples: [
    { line: 'svc login', text: { en: 'sign in', zh: '登录' } },
    { line: 'SVC_SITE_URL=https://example.org svc login', text: { en: 'sign in at another site', zh: '登录另一个站点' } },
  ],
  options: [defineFlag('no-browser', { en: 'never offer to open a browser', zh: '不提示打开浏览器' })],
  load: () => import('./account/login.ts'),
}

const logout: Command = {
  name: 'logout',
  summary: { en: 'end the session, here and at the service', zh: '在本机和服务端退出登录' },
  examples: [{ line: 'svc logout', text: { en: 'sign out', zh: '退出登录' } }],
  options: [defineFlag('local', { en: 'only delete it here', zh: '仅在本机清除' })],
  load: () => import('./account/logout.ts'),
}

const whoami: Command = {
  name: 'whoami',
  summary: { en: 'show the credential in use and check it', zh: '查看并验证当前凭据' },
  examples: [{ line: 'svc whoami', text: { en: 'who am I signed in as?', zh: '当前登录的是谁？' } }],
  load: () => import('./account/whoami.ts'),
}

const models: Command = {
  name: 'models',
  summary: { en: 'list the models of your plan', zh: '列出套餐可用的模型' },
  examples: [
    { line: 'svc models', text: { en: 'as a table', zh: '以表格显示' } },
    { line: 'svc models --json', text: { en: 'for a program', zh: '供程序使用' } },
  ],
  load: () => import('./models.ts'),
}

const plans: Command = {
  name: 'plans',
  summary: { en: 'list the plans; needs no sign-in', zh: '列出套餐（无需登录）' },
  examples: [{ line: 'svc plans', text: { en: 'compare the plans', zh: '比较套餐' } }],
  load: () => import('./purchases/plans.ts'),
}

const usage: Command = {
  name: 'usage',
  summary: { en: 'show used and remaining quota', zh: '查看用量与剩余额度' },
  examples: [
    { line: 'svc usage', text: { en: 'pools of day, week and month', zh: '日、周、月额度' } },
    { line: 'svc usage --turns', text: { en: 'the latest turns and what each cost', zh: '最近的请求及其用量' } },
    { line: 'svc usage --request mbr_01JAB', text: { en: 'what one request cost', zh: '某次请求的费用' } },
  ],
  options: [
    defineFlag('turns', { en: 'the latest turns instead (not with a key)', zh: '改为显示最近的请求（密钥不可用）' }),
    defineText('request <id>', { en: 'what the request with this id cost instead', zh: '改为显示该 ID 的请求费用' }),
  ],
  load: () => import('./account/usage.ts'),
}

const alerts: Command = {
  name: 'alerts',
  summary: { en: 'emails at 80 and 100 % of your usage', zh: '用量达到 80% 和 100% 时的邮件' },
  examples: [
    { line: 'svc alerts', text: { en: 'are they on?', zh: '是否已开启' } },
    { line: 'svc alerts on', text: { en: 'in the language and time zone of this terminal', zh: '使用此终端的语言和时区' } },
  ],
  arguments: [{ name: 'state', optional: true, choices: ['on', 'off'], summary: { en: 'the new state', zh: '新的状态' } }],
  load: async () => ({ run: (await import('./account/usage.ts')).alerts }),
}

const chat: Command = {
  name: 'chat',
  summary: { en: 'ask a model; without a question, start a conversation', zh: '向模型提问；不带问题则进入对话' },
  description: {
    en: 'Takes the question from the command line, from standard input (where the argument is -), or, on a terminal without either, starts a conversation. Ctrl-C stops the answer; you are charged for what was produced until then.',
    zh: '问题可来自命令行、标准输入（用 - 表示），若两者皆无且在终端中则进入对话。Ctrl-C 停止回答；已生成的部分会计入用量。',
  },
  examples: [
    { line: 'svc chat "Explain TCP slow start in two sentences"', text: { en: 'ask once', zh: '单次提问' } },
    {
      line: 'git diff | svc chat "Review this change:" -',
      text: { en: 'with a text from another program', zh: '附上其他程序的输出' },
    },
    { line: 'svc chat', text: { en: 'a conversation', zh: '对话' } },
  ],
  arguments: [
    {
      name: 'prompt',
      optional: true,
      variadic: true,
      summary: { en: 'the question; - is standard input', zh: '问题；- 表示标准输入' },
    },
  ],
  options: [
    { ...model, defaultText: 'auto' },
    defineText('system <text>', { en: 'instructions for the model', zh: '给模型的系统指令' }, { short: 's' }),
    defineFlag(
      'interactive',
      { en: 'a conversation, with the prompt as its first question', zh: '进入对话，prompt 为第一个问题' },
      { short: 'i' },
    ),
    defineFlag('no-stream', { en: 'wait for the whole answer', zh: '等待完整回答后再输出' }),
    defineFlag('raw', { en: 'print Markdown as it is', zh: '原样输出 Markdown' }),
  ],
  load: () => import('./chat.ts'),
}

const search: Command = {
  name: 'search',
  summary: { en: 'search the web, with an answer and its sources', zh: '联网搜索，给出答案和来源' },
  examples: [
    { line: 'svc search "latest Node.js release"', text: { en: 'answer and sources', zh: '答案与来源' } },
    { line: 'svc search "latest Node.js release" --json', text: { en: 'the svc.search.v1 document', zh: 'svc.search.v1 文档' } },
  ],
  arguments: [{ name: 'query', variadic: true, summary: { en: 'what to look for', zh: '搜索内容' } }],
  load: () => import('./search.ts'),
}

const image: Command = {
  name: 'image',
  summary: { en: 'create an image and save it', zh: '生成图片并保存' },
  examples: [
    { line: 'svc image "a lighthouse at dusk, watercolour"', text: { en: 'saved as image-<time>', zh: '保存为 image-<时间>' } },
    { line: 'svc image "a lighthouse" --output lighthouse.png', text: { en: 'under a name', zh: '指定文件名' } },
  ],
  arguments: [{ name: 'prompt', variadic: true, summary: { en: 'a description of the image', zh: '图片内容' } }],
  options: [
    defineText('output <file>', { en: 'where to save it', zh: '保存位置' }, { short: 'o' }),
    defineFlag('force', { en: 'replace an existing file', zh: '覆盖已有文件' }, { short: 'f' }),
    { ...model, defaultText: '<brand>-img' },
  ],
  load: () => import('./image.ts'),
}

const boost: CommandSpec = {
  name: 'boost',
  summary: { en: 'extra usage: check in every day, join a rush', zh: '加油包：每日签到与抢购' },
  examples: [
    { line: 'svc boost', text: { en: 'your packs and those you can claim', zh: '查看加油包余额与可领取项' } },
    { line: 'svc boost checkin', text: { en: "take today's pack", zh: '领取今日签到' } },
  ],
  defaultCommand: 'status',
  commands: [
    {
      name: 'status',
      summary: { en: 'show packs, check-in, invitation and rush', zh: '查看加油包、签到、邀请与抢购' },
      examples: [{ line: 'svc boost status', text: { en: 'your packs', zh: '查看状态' } }],
      load: async () => ({ run: (await import('./purchases/boost.ts')).status }),
    },
    {
      name: 'checkin',
      summary: { en: "take today's pack", zh: '领取今日签到' },
      examples: [{ line: 'svc boost checkin', text: { en: 'once a day', zh: '每天一次' } }],
      load: async () => ({ run: (await import('./purchases/boost.ts')).checkin }),
    },
    {
      name: 'rush',
      summary: { en: 'grab a pack while a rush is open', zh: '抢购进行中时抢一份' },
      examples: [{ line: 'svc boost rush', text: { en: 'while packs last', zh: '抢完为止' } }],
      load: async () => ({ run: (await import('./purchases/boost.ts')).rush }),
    },
  ],
}

const redeem: Command = {
  name: 'redeem',
  summary: { en: 'redeem a code for a plan or for credits', zh: '使用兑换码换取套餐或点数' },
  examples: [
    { line: 'svc redeem 4F7QK-9B2MD-XXXXX-XXXXX', text: { en: 'once an account', zh: '每个账户一次' } },
    { line: 'svc redeem 4F7QK-9B2MD-XXXXX-XXXXX --check', text: { en: 'only show what it gives', zh: '仅查看内容' } },
  ],
  arguments: [{ name: 'code', summary: { en: 'twenty letters and digits', zh: '20 个字母和数字' } }],
  options: [defineFlag('check', { en: 'show what it gives, and redeem nothing', zh: '仅查看内容，不兑换' })],
  load: () => import('./purchases/redeem.ts'),
}

const buy: Command = {
  name: 'buy',
  summary: { en: 'buy a plan or a pack', zh: '购买套餐或加油包' },
  description: {
    en: 'Shows what the purchase does and costs, and prints the address where it is paid. Open it in a browser on any device; nothing is charged before you pay there. The command then waits until what you bought is in your account.',
    zh: '显示购买的内容和价格，并给出付款地址。可在任意设备的浏览器中打开；在那里付款之前不会扣款。命令会一直等到购买的内容加入账户。',
  },
  examples: [
    { line: 'svc buy pro --yearly', text: { en: 'a plan for a year', zh: '购买一年的套餐' } },
    { line: 'svc buy pack small', text: { en: 'a pack', zh: '购买加油包' } },
  ],
  arguments: [
    { name: 'item', summary: { en: 'a plan of svc plans, or the word pack', zh: 'svc plans 中的套餐；购买加油包时为 pack' } },
    { name: 'pack', optional: true, summary: { en: 'the pack, after the word pack', zh: '加油包（用在 pack 之后）' } },
  ],
  options: [
    { name: 'yearly', kind: 'flag', summary: { en: 'pay by the year', zh: '按年付款' } },
    { name: 'currency', kind: 'text', placeholder: 'code', summary: { en: 'such as EUR', zh: '例如 EUR' } },
    { name: 'with', kind: 'text', placeholder: 'provider', summary: { en: 'another way of paying', zh: '其他付款方式' } },
    { name: 'check', kind: 'flag', summary: { en: 'only show what it does and costs', zh: '仅显示内容和价格' } },
    { name: 'no-wait', kind: 'flag', summary: { en: 'print the address and end', zh: '显示地址后结束' } },
    { name: 'no-browser', kind: 'flag', summary: { en: 'never offer to open a browser', zh: '不提示打开浏览器' } },
  ],
  load: () => import('./purchases/buy.ts'),
}

const orders: Command = {
  name: 'orders',
  summary: { en: 'your orders, and what became of one', zh: '查看订单及其经过' },
  examples: [
    { line: 'svc orders', text: { en: 'the latest orders', zh: '最近的订单' } },
    { line: 'svc orders 2026-000123 --check', text: { en: 'ask whether it is paid', zh: '查询是否已付款' } },
  ],
  arguments: [{ name: 'number', optional: true, summary: { en: 'one order', zh: '某个订单' } }],
  options: [
    { name: 'check', kind: 'flag', summary: { en: 'ask the payment service now', zh: '立即向支付服务查询' } },
    { name: 'cancel', kind: 'flag', summary: { en: 'cancel it, if it is not paid', zh: '取消未付款的订单' } },
  ],
  load: () => import('./purchases/orders.ts'),
}

const keys: Command = {
  name: 'keys',
  summary: { en: 'print the address of the page for API keys', zh: '显示 API 密钥页面的地址' },
  examples: [{ line: 'svc keys', text: { en: 'where keys are made and revoked', zh: '创建和吊销密钥的页面' } }],
  load: () => import('./account/keys.ts'),
}

const setup: Command = {
  name: 'setup',
  summary: { en: 'set up Codex, Claude Code and other programs', zh: '配置 Codex、Claude Code 等程序' },
  description: {
    en: 'Shows the settings that a program needs, with the address of the service and the models of your plan, as the difference to its own settings file. --write changes the file: everything else in it is kept, and the old file stays beside it. Where the file has to contain the key, the key of SVC_API_KEY is used.',
    zh: '显示 Codex 等程序需要的设置：服务地址、套餐中的模型，以及与该程序现有配置文件的差异。加上 --write 则修改该文件，其余内容保持不变，原文件保留在旁边。如果文件必须包含密钥，则使用 SVC_API_KEY 的值。',
  },
  examples: [
    { line: 'svc setup codex', text: { en: 'show what would change', zh: '显示将要修改的内容' } },
    { line: 'svc setup codex --write', text: { en: 'change the settings of Codex', zh: '修改 Codex 的设置' } },
    { line: 'svc setup', text: { en: 'the programs and their files', zh: '可配置的程序及其文件' } },
  ],
  arguments: [{ name: 'client', optional: true, choices: clientIds, summary: { en: 'the program', zh: '程序' } }],
  options: [
    defineFlag('write', { en: 'change the settings file', zh: '修改配置文件' }, { short: 'w' }),
    { ...model, defaultText: { en: 'the first premium model', zh: '第一个高级模型' } },
  ],
  load: () => import('./setup/setup.ts'),
}

const settingName = {
  name: 'name',
  summary: {
    en: 'site_url, base_url, brand, model, browser, browser_sandbox or language',
    zh: 'site_url、base_url、brand、model、browser、browser_sandbox 或 language',
  },
} as const

const config: CommandSpec = {
  name: 'config',
  summary: { en: "the command's own settings", zh: '命令行自身的设置' },
  examples: [
    { line: 'svc config', text: { en: 'all settings and where they come from', zh: '所有设置及其来源' } },
    { line: 'svc config set site_url https://example.org', text: { en: 'the service to use', zh: '设置要使用的服务' } },
  ],
  defaultCommand: 'list',
  commands: [
    {
      name: 'list',
      summary: { en: 'all settings and where they come from', zh: '所有设置及其来源' },
      examples: [{ line: 'svc config list', text: { en: 'as a table', zh: '以表格显示' } }],
      load: async () => ({ run: (await import('./config.ts')).list }),
    },
    {
      name: 'get',
      summary: { en: 'print one value', zh: '显示一项设置' },
      examples: [{ line: 'svc config get site_url', text: { en: 'the service in use', zh: '当前使用的服务' } }],
      arguments: [settingName],
      load: async () => ({ run: (await import('./config.ts')).get }),
    },
    {
      name: 'set',
      summary: { en: 'store a value', zh: '保存一项设置' },
      examples: [{ line: 'svc config set model svc-2.1', text: { en: 'the model of svc chat', zh: 'svc chat 使用的模型' } }],
      arguments: [settingName, { name: 'value', summary: { en: 'the value', zh: '值' } }],
      load: async () => ({ run: (await import('./config.ts')).set }),
    },
    {
      name: 'unset',
      summary: { en: 'go back to the default', zh: '恢复默认值' },
      examples: [{ line: 'svc config unset model', text: { en: 'remove the setting', zh: '清除' } }],
      arguments: [settingName],
      load: async () => ({ run: (await import('./config.ts')).unset }),
    },
    {
      name: 'path',
      summary: { en: 'print the path of the settings file', zh: '显示设置文件的位置' },
      examples: [{ line: 'svc config path', text: { en: 'the file', zh: '文件路径' } }],
      load: async () => ({ run: (await import('./config.ts')).path }),
    },
  ],
}

const completion: Command = { ...createCompletionEntry('svc'), load: () => import('./completion.ts') }

const man: Command = { ...createManEntry('svc'), load: () => import('./man.ts') }

export const serviceCommands: readonly CommandSpec[] = [
  login,
  logout,
  whoami,
  models,
  plans,
  usage,
  alerts,
  chat,
  search,
  image,
  boost,
  redeem,
  buy,
  orders,
  keys,
  setup,
  config,
  completion,
  man,
]
