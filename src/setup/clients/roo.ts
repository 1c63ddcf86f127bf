/** Roo Code, an agent for editors. */
import { getBaseUrl } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const roo: ClientSetupEntry = {
  name: 'Roo Code',
  api: 'chat completions',
  create: (facts) => ({
    dialog: { en: 'Settings of Roo Code, Providers', zh: 'Roo Code 的设置，Providers' },
    fields: [
      { label: 'API Provider', value: 'OpenAI Compatible' },
      { label: 'Base URL', value: getBaseUrl(facts) },
      { label: 'API Key', value: facts.key },
      { label: 'Model', value: facts.main.id },
      { label: 'Max Output Tokens', value: String(facts.main.maxOutputTokens) },
      { label: 'Context Window Size', value: String(facts.main.contextLength) },
      { label: 'Image Support', value: facts.main.images ? 'on' : 'off' },
    ],
  }),
}
