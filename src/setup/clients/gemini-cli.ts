/** Gemini CLI, the agent of Google: it uses the Gemini API. */
import { quote, toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const geminiCli: ClientSetupEntry = {
  name: 'Gemini CLI',
  api: 'gemini',
  create: ({ apiUrl, key, main }) => ({
    files: [
      {
        path: '~/.gemini/.env',
        // Its lines are TOML as well as the program writes them.
        format: 'toml',
        text: `GEMINI_API_KEY = ${quote(key)}
GOOGLE_GEMINI_BASE_URL = ${quote(apiUrl)}
GEMINI_MODEL = ${quote(main.id)}
`,
        keyPath: ['GEMINI_API_KEY'],
      },
      {
        path: '~/.gemini/settings.json',
        format: 'json',
        text: toJson({
          security: { auth: { selectedType: 'gemini-api-key' } },
          model: { name: main.id },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
    ],
    notes: [
      {
        en: 'GOOGLE_GEMINI_BASE_URL has no version such as /v1beta at its end: Gemini CLI adds it.',
        zh: 'GOOGLE_GEMINI_BASE_URL 末尾不带 /v1beta 等版本号：Gemini CLI 会自动添加。',
      },
      {
        en: 'A file .env in a project, or in a folder above it, takes the place of this one.',
        zh: '项目或其上级文件夹中的 .env 文件会代替此文件。',
      },
    ],
  }),
}
