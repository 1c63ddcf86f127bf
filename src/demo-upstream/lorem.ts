/**
 * Texts of the demo upstream. Its reader has just started the server and wants to see whether it works, so the texts say plainly what it
 * is, answer questions about svc-gateway, and name the next step.
 */
export function composeText(occasion: 'chat' | 'tool' | 'search' | 'image', about: string): string {
  const texts = /\p{Script=Han}/u.test(about) ? chineseTexts : englishTexts
  if (occasion !== 'chat') return texts[occasion](shorten(about))
  const topic = texts.topics.find(({ pattern }) => pattern.test(about))
  return topic === undefined ? texts.unknown(shorten(about)) : `${topic.text}\n\n${texts.next}`
}

interface Texts {
  readonly topics: readonly { readonly pattern: RegExp; readonly text: string }[]
  readonly unknown: (about: string) => string
  readonly tool: (about: string) => string
  readonly search: (about: string) => string
  readonly image: (about: string) => string
  readonly next: string
}

const englishTexts: Texts = {
  topics: [
    {
      pattern: /\b(?:quota|plans?|price|pricing|pools?|boosts?|credits?|limits?)\b/i,
      text: 'Each account has a plan, and each plan has credits for a day, a week and a month, for Fast and for Premium models. Before a model is called, the cost of the turn is put on hold; afterwards what was really used is settled, and a turn that failed upstream is given back. `svc-gateway account show <email>` shows where an account stands.',
    },
    {
      pattern: /\b(?:keys?|token|sign in|log ?in|auth)/i,
      text: 'A key begins with `svc_live_` and goes into the header `Authorization: Bearer …`. The first start printed one; `svc-gateway key create --account <email> --name laptop` makes another. Keys are stored as hashes only, so a lost one is replaced, not read back.',
    },
    {
      pattern: /\b(?:upstream|provider|configur\w*|set ?up|connect|real model|install)\b/i,
      text: 'To talk to a real model, set `UPSTREAM_BASE_URL` (it ends in `/v1`) and `UPSTREAM_API_KEY` and start the server again. Any OpenAI-compatible service will do. Which upstream model stands behind which product is written in `gateway.config.ts`.',
    },
    {
      pattern: /\b(?:stream\w*|sse|sdk|openai|client|curl|api)\b/i,
      text: 'Every OpenAI-compatible client works: give it this server as its base URL, ending in `/v1`, and your key. With `"stream": true` the answer comes in pieces as it is made, the way you may be reading this one.',
    },
    {
      pattern: /\b(?:who|what) (?:are|is) (?:you|this|it|svc)|\bsvc-gateway\b|\bwhat can you\b|\bhelp\b/i,
      text: 'I am the demonstration model built into svc-gateway, a self-hosted membership and model API gateway: it puts accounts, plans, keys, limits and a careful ledger in front of any OpenAI-compatible model service. I do not think, but what carried this answer to you (your key, the hold on your quota, the stream, the settlement) is the real thing.',
    },
    {
      pattern: /^\s*(?:hi|hello|hey|good (?:morning|day|evening)|ping|test)\b|\bsay (?:hi|hello)\b/i,
      text: 'Hello! Your gateway works: your key was accepted, the turn was held against your plan, and this answer was metered on its way to you. I am its built-in demonstration model, so do not expect much wit of me.',
    },
  ],
  unknown: (about) =>
    `You asked: “${about}”. A real model would answer that; I am the demonstration model built into svc-gateway and only know my way around the gateway itself. Ask me about keys, plans and quota, streaming, or how to connect a real model.\n\n${englishTexts.next}`,
  tool: (about) => `The tool answered: ${about}. That is a whole round of tool calling, through the gateway and back.`,
  search: (about) =>
    `This is a demonstration answer about “${about}” [1]. It is written in the form a searching model uses: each mark points to a result [2], and the results come along with the answer [3].`,
  image: (about) => `Here is a small picture for “${about}”, painted by the demonstration model.`,
  next: 'Next: set UPSTREAM_BASE_URL and UPSTREAM_API_KEY, start again, and a real model answers here.',
}

const chineseTexts: Texts = {
  topics: [
    {
      pattern: /额度|套餐|价格|用量|加油包|限制/,
      text: '每个账户有一个套餐，每个套餐按日、周、月分配额度，分为快速和高级两类模型。调用模型前先预留费用，完成后按实际用量结算；上游失败的一次会全额退回。用 `svc-gateway account show <邮箱>` 可以查看账户现状。',
    },
    {
      pattern: /密钥|登录|鉴权|令牌/,
      text: '密钥以 `svc_live_` 开头，放在请求头 `Authorization: Bearer …` 中。首次启动时会打印一个；用 `svc-gateway key create --account <邮箱> --name laptop` 可以再建一个。系统只保存密钥的哈希。',
    },
    {
      pattern: /上游|配置|真实模型|接入|安装/,
      text: '要使用真实模型，请设置 `UPSTREAM_BASE_URL`（以 `/v1` 结尾）和 `UPSTREAM_API_KEY`，然后重新启动。任何兼容 OpenAI 的服务都可以。产品与上游模型的对应关系写在 `gateway.config.ts` 里。',
    },
    {
      pattern: /你好|您好|你是谁|这是什么|帮助|介绍/,
      text: '你好！我是 svc-gateway 内置的演示模型。svc-gateway 是可自行部署的会员与模型 API 网关。我不会思考，但送达这条回答的一切（密钥、额度预留、流式传输、结算）都是真实的。',
    },
  ],
  unknown: (about) =>
    `你问的是：“${about}”。真实的模型会回答它；我只是 svc-gateway 内置的演示模型，可以回答关于密钥、套餐与额度、接入真实模型的问题。\n\n${chineseTexts.next}`,
  tool: (about) => `工具返回：${about}。一次完整的工具调用已经通过网关往返完成。`,
  search: (about) => `这是关于“${about}”的演示回答 [1]。它采用搜索模型的形式：每个标记指向一条结果 [2]，结果随回答一起返回 [3]。`,
  image: (about) => `这是演示模型为“${about}”画的一张小图。`,
  next: '下一步：设置 UPSTREAM_BASE_URL 和 UPSTREAM_API_KEY 后重新启动，这里就会由真实模型回答。',
}

/** Long enough to be recognized, short enough not to be the answer. Cut by characters, never inside one. */
function shorten(text: string): string {
  const characters = [...text.replaceAll(/\s+/g, ' ').trim()]
  return characters.length <= 160 ? characters.join('') : `${characters.slice(0, 160).join('')}…`
}
