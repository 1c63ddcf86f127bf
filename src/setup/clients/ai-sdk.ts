/** The Vercel AI SDK. */
import { createKeySnippet, getBaseUrl, getKeyVariable } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const aiSdk: ClientSetupEntry = {
  name: 'Vercel AI SDK',
  api: 'responses',
  create: (facts) => ({
    snippets: [
      createKeySnippet(facts),
      {
        title: 'TypeScript',
        language: 'typescript',
        text: `import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const ${facts.slug} = createOpenAI({ baseURL: '${getBaseUrl(facts)}', apiKey: process.env.${getKeyVariable(facts)} })

const { text } = await generateText({
  model: ${facts.slug}('${facts.main.id}'),
  providerOptions: { openai: { store: false } },
  prompt: 'Hello',
})
console.log(text)
`,
      },
    ],
    notes: [
      {
        en: `store: false is needed for more than one step, because the service keeps no answers. ${facts.slug}.chat('${facts.main.id}') uses chat completions and needs no option.`,
        zh: `多步调用需要 store: false，因为服务不保存回答。${facts.slug}.chat('${facts.main.id}') 使用 chat completions，无需该选项。`,
      },
    ],
  }),
}
