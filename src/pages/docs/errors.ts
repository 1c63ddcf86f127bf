import { errorCatalog } from '../../errors.ts'
import type { Action, ErrorCode } from '../../errors.ts'
import type { Language } from '../language.ts'
import { texts } from '../texts/texts.ts'
import { code, table } from './docs-page.ts'
import type { DocsPage } from './docs-page.ts'

const sample = `{
  "ok": false,
  "requestId": "mbr_01JD…",
  "error": { "message": "The model service is busy. …", "type": "rate_limit_error", "code": "upstream_rate_limited", "param": null },
  "message": "The model service is busy. You were not charged. Try again shortly.",
  "messageZh": "模型服务繁忙，本次未计费，请稍后重试。",
  "code": "upstream_rate_limited",
  "stage": "upstream",
  "actions": ["retry_later", "switch_model"],
  "debug": {}
}`

export const errors: DocsPage = {
  path: '/docs/errors',
  title: { en: 'Errors', zh: '错误' },
  group: 'guide',
  write: ({ site }) => ({
    en: `# Errors

Every failure is JSON with a code, the stage at which it happened, what to do next, and an id to quote. A failure of a model gives the credits back.

${code('json', 'envelope', sample)}

The header \`Link: <…>; rel="help"\` is the address of the code on this page. Clients of the Responses and Messages APIs receive the same sentence in their own format.

## All codes {#codes}

${listCodes('en')}

## What a client does {#retries}

- On 429 and 503, wait for \`Retry-After\` and send the request again.
- On 402, stop: \`actions\` names what helps, and \`x-should-retry: false\` ends the retries of SDKs. See [plans](${site}/plans).
- On 400, 401, 403 and 404, change the request; the same one fails again.
- In a stream the failure is the last event before \`[DONE]\`, because the status 200 has been sent already.
`,
    zh: `# 错误

每个错误都是 JSON，包含错误码、出错的阶段、下一步建议，以及可供查询的编号。模型出错时，点数会退回。

${code('json', 'envelope', sample)}

响应头 \`Link: <…>; rel="help"\` 给出该错误码在本页的地址。Responses 与 Messages 接口的客户端会以各自的格式收到同样的说明。

## 全部错误码 {#codes}

${listCodes('zh')}

## 客户端应如何处理 {#retries}

- 429 与 503：等待 \`Retry-After\` 后重发。
- 402：停止重试。\`actions\` 给出可行的办法，\`x-should-retry: false\` 会结束 SDK 的重试。见[套餐](${site}/plans)。
- 400、401、403 与 404：请修改请求，同样的请求会再次失败。
- 流式输出时，错误是 \`[DONE]\` 之前的最后一个事件，因为状态码 200 已经发出。
`,
  }),
}

function listCodes(language: Language): string {
  const isEnglish = language === 'en'
  const codes = Object.keys(errorCatalog) as ErrorCode[]
  const nextSteps: Readonly<Record<Action, string | undefined>> = texts[language].common.whatNext as never
  return table(
    isEnglish ? ['Code', 'HTTP', 'Meaning, and what helps'] : ['错误码', 'HTTP', '含义与解决办法'],
    ...codes.map((name) => {
      const { status, stage, actions, ...sentences } = errorCatalog[name]
      const steps = actions.map((action) => nextSteps[action] ?? action).join(isEnglish ? ' ' : '')
      const meaning = dropPlaceholders(sentences[language])
      return [`\`${name}\``, `${status}, \`${stage}\``, isEnglish ? `${meaning} ${steps}` : `${meaning}${steps}`]
    }),
  )
}

/** The catalog's sentence without the part that is filled in for one request. */
function dropPlaceholders(text: string): string {
  return text.replace(/[^.。]*\{\w+\}[.。]?/, '').replace(/[:：]\s*$/, '.') || text.replace(/[:：]?\s*\{\w+\}/, '')
}
