import { typicalMessage } from '../../config/message-estimate.ts'
import { formatNumber } from '../format.ts'
import type { Language } from '../language.ts'
import { listOfferedPlans } from '../offers/plan-offers.ts'
import { interpolate } from '../page.ts'
import { texts } from '../texts/texts.ts'
import { table } from './docs-page.ts'
import type { DocsFacts, DocsPage } from './docs-page.ts'

export const limits: DocsPage = {
  path: '/docs/limits',
  title: { en: 'Limits', zh: '限制' },
  group: 'guide',
  write: (facts) => {
    const { services, site, base, keyVariable } = facts
    const { names, config } = services
    const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`
    const chat = megabytes(config.limits.chatBodyBytes)
    const agent = megabytes(config.limits.agentBodyBytes)
    const input = formatNumber(typicalMessage.inputTokens, 'en')
    const output = formatNumber(typicalMessage.outputTokens, 'en')
    return {
      en: `# Limits

## Plans {#plans}

${listPlans(facts, 'en')}

Messages are estimates for ${input} tokens in and ${output} out; what is counted are credits, by day, week and month. See [plans](${site}/plans).

An email at 80 % and at 100 % of a window can be switched on in the [profile](${site}/account/profile), or with \`svc alerts on\`.

## Requests a minute {#requests}

They are counted over all keys and sessions of an account. Answers carry \`x-ratelimit-limit-requests\`, \`x-ratelimit-remaining-requests\` and \`x-ratelimit-reset-requests\`, and the same as \`RateLimit\` and \`RateLimit-Policy\` of the IETF draft; a refusal with 429 carries \`Retry-After\`.

## Usage and cost {#usage}

With a key alone, [\`GET /v1/usage\`](${base}/usage) returns your pools, boosts and limits, and when each window resets:

\`\`\`sh
curl ${base}/usage -H "Authorization: Bearer $${keyVariable}"
\`\`\`

A whole answer carries what it cost in \`${names.quotaChargedHeader}\` (credits), its pool in \`${names.quotaTierHeader}\`, and what is left in that pool’s window with the fewest credits: \`${names.quotaRemainingHeader}\`, \`${names.quotaWindowHeader}\` (\`day\`, \`week\` or \`month\`) and \`${names.quotaResetHeader}\` (Unix seconds). Boosts are not counted in it, and credits that other running turns have reserved are not left.

A stream has the same in the field \`charge\` of its last event: beside the usage of chat completions (send \`stream_options: {"include_usage": true}\`), in \`response.completed\` and in \`message_stop\`. The result of an MCP tool has it in \`_meta\`.

\`\`\`json
{ "credits": 207, "tier": "fast", "left": { "window": "day", "credits": 99793, "resets_at": "2027-01-01T00:00:00.000Z" } }
\`\`\`

Afterwards \`GET /v1/turns/{request id}\` returns what a request of your account was charged, by the answer’s \`x-request-id\` or the id that you sent. A request with several turns, such as one with a web search, lists all of them.

## Sizes {#sizes}

A body of chat completions has at most ${chat}, one of responses or messages ${agent}. The prompt and the answer together fit the model’s [context](${site}/docs/models).

## Repeating safely {#idempotency}

Send an \`Idempotency-Key\` with a request that you may have to repeat: the same key is never charged twice, and a repeat is refused with [\`conflict\`](${site}/docs/errors#conflict).

## Tracing {#tracing}

Send \`${names.requestIdHeader}\` with an id of your own; it comes back on the answer. \`x-request-id\` is ours, and it is the reference to quote.
`,
      zh: `# 限制

## 套餐 {#plans}

${listPlans(facts, 'zh')}

消息数按输入 ${input}、输出 ${output} 个 token 估算；实际按日、周、月计算点数。见[套餐](${site}/plans)。

用量达到 80% 和 100% 时的邮件可在[资料页](${site}/account/profile)开启，或运行 \`svc alerts on\`。

## 每分钟请求数 {#requests}

按账户的全部密钥与登录设备合并计算。响应带有 \`x-ratelimit-limit-requests\`、\`x-ratelimit-remaining-requests\` 和 \`x-ratelimit-reset-requests\`，以及 IETF 草案的 \`RateLimit\` 与 \`RateLimit-Policy\`；以 429 拒绝时另带 \`Retry-After\`。

## 剩余额度与费用 {#usage}

只需密钥，[\`GET /v1/usage\`](${base}/usage) 就会返回额度、加油包、限制以及各周期的重置时间：

\`\`\`sh
curl ${base}/usage -H "Authorization: Bearer $${keyVariable}"
\`\`\`

完整回答的响应头带有本次费用 \`${names.quotaChargedHeader}\`（点数）、所用额度 \`${names.quotaTierHeader}\`，以及该额度中剩余最少的周期：\`${names.quotaRemainingHeader}\`（剩余点数）、\`${names.quotaWindowHeader}\`（\`day\`、\`week\` 或 \`month\`）和 \`${names.quotaResetHeader}\`（重置时间，Unix 秒）。其中不含加油包；其他进行中的请求已预留的点数不算剩余。

流式回答在最后一个事件的 \`charge\` 字段中带有相同内容：对话补全在用量旁（请发送 \`stream_options: {"include_usage": true}\`），Responses 在 \`response.completed\`，Messages 在 \`message_stop\`。MCP 工具的结果放在 \`_meta\` 中。

\`\`\`json
{ "credits": 207, "tier": "fast", "left": { "window": "day", "credits": 99793, "resets_at": "2027-01-01T00:00:00.000Z" } }
\`\`\`

之后可用 \`GET /v1/turns/{请求 ID}\` 查询本账户某次请求的费用，ID 为响应头 \`x-request-id\` 或你发送的编号。一次请求包含多次调用（例如联网搜索）时，会全部列出。

## 大小 {#sizes}

对话补全的请求体最大 ${chat}，Responses 与 Messages 最大 ${agent}。提示与回答合计不超过模型的[上下文](${site}/docs/models)。

## 安全重发 {#idempotency}

可能需要重发的请求，请带上 \`Idempotency-Key\`：同一个 key 绝不会重复扣费，重发会以 [\`conflict\`](${site}/docs/errors#conflict) 拒绝。

## 追踪 {#tracing}

发送 \`${names.requestIdHeader}\` 可附上自己的编号，响应会原样返回。\`x-request-id\` 是我们的编号，咨询时请提供它。
`,
    }
  },
}

function listPlans({ services }: DocsFacts, language: Language): string {
  const { plans, home } = texts[language]
  const isEnglish = language === 'en'
  const about = (value: number | null): string =>
    value === null ? plans.unlimited : interpolate(plans.about, { count: formatNumber(value, language) })
  return table(
    isEnglish
      ? [home.plan, 'Requests a minute', 'At once', 'Fast a day', 'Premium a day']
      : [home.plan, '每分钟请求数', '同时请求数', '每日快速消息', '每日高级消息'],
    ...listOfferedPlans(services.config).flatMap(({ name, offers }) =>
      offers.map(({ plan, price, messages }) => [
        offers.length > 1 && price.multiplier !== null ? `${name} ${price.multiplier}×` : name,
        plan.rpm,
        plan.concurrency,
        about(messages.fast.day),
        about(messages.premium.day),
      ]),
    ),
  )
}
