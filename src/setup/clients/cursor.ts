/** Cursor, an editor whose chat can use another service's models. */
import { getBaseUrl } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const cursor: ClientSetupEntry = {
  name: 'Cursor',
  api: 'chat completions',
  create: (facts) => ({
    dialog: { en: 'Cursor Settings, Models, API Keys', zh: 'Cursor Settings,Models,API Keys' },
    fields: [
      { label: 'OpenAI API Key', value: facts.key },
      { label: 'Override OpenAI Base URL', value: getBaseUrl(facts) },
      { label: 'Add Custom Model', value: facts.main.id },
    ],
    notes: [
      {
        en: "Requests come from Cursor's servers, so the address must be reachable from the internet. Tab completion always uses a model of Cursor.",
        zh: '请求由 Cursor 的服务器发出，因此该地址必须可从互联网访问。Tab 补全始终使用 Cursor 自己的模型。',
      },
      {
        en: 'The override applies to every OpenAI model of Cursor while it is on.',
        zh: '覆盖地址启用期间，对 Cursor 中所有 OpenAI 模型生效。',
      },
    ],
  }),
}
