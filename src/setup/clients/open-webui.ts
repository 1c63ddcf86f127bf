/** Open WebUI, a chat for the browser that members host themselves. */
import { createKeySnippet, getBaseUrl, getKeyVariable } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const openWebui: ClientSetupEntry = {
  name: 'Open WebUI',
  api: 'chat completions',
  create: (facts) => ({
    dialog: { en: 'Admin Panel, Settings, Connections, OpenAI API', zh: '管理员面板，设置，外部连接，OpenAI API' },
    fields: [
      { label: 'URL', value: getBaseUrl(facts) },
      { label: 'API Key', value: facts.key },
    ],
    snippets: [
      createKeySnippet(facts),
      {
        title: 'Docker',
        language: 'shell',
        text: `docker run -d -p 3000:8080 \\
  -e ENABLE_OLLAMA_API=false \\
  -e OPENAI_API_BASE_URL=${getBaseUrl(facts)} \\
  -e OPENAI_API_KEY="$${getKeyVariable(facts)}" \\
  -e TASK_MODEL_EXTERNAL=${facts.fast.id} \\
  -v open-webui:/app/backend/data \\
  ghcr.io/open-webui/open-webui:main
`,
      },
    ],
    notes: [
      {
        en: 'Every person who may use this Open WebUI uses your plan.',
        zh: '所有可使用此 Open WebUI 的人都会消耗你的套餐额度。',
      },
    ],
  }),
}
