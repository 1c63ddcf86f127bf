/** Cline, an agent for editors and the terminal. */
import { getBaseUrl, quote, toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const cline: ClientSetupEntry = {
  name: 'Cline',
  api: 'chat completions',
  create: (facts) => ({
    files: [
      {
        path: '~/.cline/data/settings/providers.json',
        format: 'json',
        text: toJson({
          version: 1,
          lastUsedProvider: 'openai-compatible',
          providers: {
            'openai-compatible': {
              settings: {
                provider: 'openai-compatible',
                apiKey: facts.key,
                model: facts.main.id,
                baseUrl: getBaseUrl(facts),
              },
              updatedAt: '2026-01-01T00:00:00.000Z',
              tokenSource: 'manual',
            },
          },
        }),
        unlessSet: [{ path: ['version'] }, { path: ['providers', 'openai-compatible', 'updatedAt'] }],
        keyPath: ['providers', 'openai-compatible', 'settings', 'apiKey'],
      },
    ],
    dialog: { en: 'Settings of Cline, API Configuration', zh: 'Cline 的设置，API Configuration' },
    fields: [
      { label: 'API Provider', value: 'OpenAI Compatible' },
      { label: 'Base URL', value: getBaseUrl(facts) },
      { label: 'API Key', value: facts.key },
      { label: 'Model ID', value: facts.main.id },
      { label: 'Context Window Size', value: String(facts.main.contextLength) },
      { label: 'Max Output Tokens', value: String(facts.main.maxOutputTokens) },
    ],
    notes: [
      {
        en: 'The file and the command are for Cline in the terminal; in an editor, enter the fields.',
        zh: '该文件和命令适用于终端中的 Cline；在编辑器中请填写各字段。',
      },
    ],
    snippets: [
      {
        title: 'shell',
        language: 'shell',
        text: `cline auth --provider openai-compatible --baseurl ${quote(getBaseUrl(facts))} --modelid ${quote(facts.main.id)} --apikey ${quote(facts.key)}\n`,
      },
    ],
  }),
}
