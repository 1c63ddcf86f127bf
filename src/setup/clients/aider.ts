/** Aider, an agent for the terminal. */
import { createKeySnippet, getBaseUrl, listModels, quote, toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const aider: ClientSetupEntry = {
  name: 'Aider',
  api: 'chat completions',
  create: (facts) => ({
    files: [
      {
        path: '~/.aider.conf.yml',
        format: 'yaml',
        text: `model: ${quote(`openai/${facts.main.id}`)}
weak-model: ${quote(`openai/${facts.fast.id}`)}
openai-api-base: ${quote(getBaseUrl(facts))}
`,
      },
      {
        path: '~/.aider.model.metadata.json',
        format: 'json',
        text: toJson(
          Object.fromEntries(
            listModels(facts).map(({ id, contextLength, maxOutputTokens }) => [
              `openai/${id}`,
              {
                max_input_tokens: contextLength,
                max_output_tokens: maxOutputTokens,
                max_tokens: maxOutputTokens,
                input_cost_per_token: 0,
                output_cost_per_token: 0,
                litellm_provider: 'openai',
                mode: 'chat',
              },
            ]),
          ),
        ),
      },
    ],
    snippets: [createKeySnippet(facts, 'AIDER_OPENAI_API_KEY')],
    notes: [
      {
        en: 'The prefix openai/ belongs to Aider: it selects the API format and is not sent.',
        zh: '前缀 openai/ 属于 Aider：它用于选择 API 格式，不会被发送。',
      },
    ],
  }),
}
