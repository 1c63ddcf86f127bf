/** Zed, an editor with an agent. */
import { createKeySnippet, getBaseUrl, listModels, toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const zed: ClientSetupEntry = {
  name: 'Zed',
  api: 'chat completions',
  create: (facts) => ({
    files: [
      {
        path: '~/.config/zed/settings.json',
        windowsPath: '%APPDATA%\\Zed\\settings.json',
        format: 'json',
        text: toJson({
          agent: { default_model: { provider: facts.slug, model: facts.main.id } },
          language_models: {
            openai_compatible: {
              [facts.slug]: {
                api_url: getBaseUrl(facts),
                available_models: listModels(facts).map(({ id, name, contextLength, maxOutputTokens, images }) => ({
                  name: id,
                  display_name: name,
                  max_tokens: contextLength,
                  max_output_tokens: maxOutputTokens,
                  capabilities: { tools: true, images, parallel_tool_calls: true, prompt_cache_key: false },
                })),
              },
            },
          },
        }),
        listKeys: { [`language_models.openai_compatible.${facts.slug}.available_models`]: 'name' },
      },
    ],
    snippets: [createKeySnippet(facts)],
    notes: [
      {
        en: 'Zed reads the key from this variable, or from its own settings page (Settings, AI, LLM Providers).',
        zh: 'Zed 从该环境变量读取密钥，也可以在其设置页（Settings,AI,LLM Providers）中填写。',
      },
    ],
  }),
}
