/** Codex, the agent of OpenAI: it uses the Responses API only. */
import { createKeySnippet, getBaseUrl, getKeyVariable, quote } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const codex: ClientSetupEntry = {
  name: 'Codex',
  api: 'responses',
  create: (facts) => ({
    files: [
      {
        path: '~/.codex/config.toml',
        folderVariable: 'CODEX_HOME',
        format: 'toml',
        text: `model = ${quote(facts.main.id)}
model_provider = ${quote(facts.slug)}
model_context_window = ${facts.main.contextLength}
web_search = ${facts.hasSearch === true ? '"live"' : '"disabled"'}

[model_providers.${facts.slug}]
name = ${quote(facts.slug)}
base_url = ${quote(getBaseUrl(facts))}
env_key = ${quote(getKeyVariable(facts))}
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
`,
        unlessSet: [{ path: ['web_search'] }],
      },
    ],
    snippets: [createKeySnippet(facts)],
    notes: [
      {
        en: 'Without model_context_window, Codex assumes a larger context window and shortens the conversation too late.',
        zh: '如果没有 model_context_window,Codex 会假定更大的上下文窗口，导致过晚压缩对话。',
      },
      {
        en: 'web_search = "live" lets the model search the web where your plan has a search product; each search is charged as one of it. Without it, write "disabled".',
        zh: '套餐包含搜索产品时，web_search = "live" 允许模型搜索网络，每次搜索按该产品计费。否则请写 "disabled"。',
      },
      {
        en: "Do not switch to a model of Codex's own list: these models are not sold here.",
        zh: '请勿切换到 Codex 自带列表中的模型：本服务不提供这些模型。',
      },
    ],
  }),
}
