/** OpenCode, an agent for the terminal. */
import { createKeySnippet, getBaseUrl, getKeyVariable, listModels, toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const opencode: ClientSetupEntry = {
  name: 'OpenCode',
  api: 'chat completions',
  create: (facts) => ({
    files: [
      {
        path: '~/.config/opencode/opencode.json',
        otherPaths: ['~/.config/opencode/opencode.jsonc'],
        format: 'json',
        text: toJson({
          $schema: 'https://opencode.ai/config.json',
          model: `${facts.slug}/${facts.main.id}`,
          small_model: `${facts.slug}/${facts.fast.id}`,
          provider: {
            [facts.slug]: {
              npm: '@ai-sdk/openai-compatible',
              name: facts.serviceName,
              options: { baseURL: getBaseUrl(facts), apiKey: `{env:${getKeyVariable(facts)}}` },
              models: Object.fromEntries(
                listModels(facts).map(({ id, name, contextLength, maxOutputTokens, images }) => [
                  id,
                  { name, limit: { context: contextLength, output: maxOutputTokens }, ...(images ? { attachment: true } : {}) },
                ]),
              ),
            },
          },
        }),
      },
    ],
    snippets: [createKeySnippet(facts)],
  }),
}
