/** LangChain, for Python and JavaScript. */
import { createKeySnippet, getBaseUrl, getKeyVariable, quote } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const langchain: ClientSetupEntry = {
  name: 'LangChain',
  api: 'chat completions',
  create: (facts) => ({
    snippets: [
      createKeySnippet(facts),
      {
        title: 'Python',
        language: 'python',
        text: `import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model=${quote(facts.main.id)},
    base_url=${quote(getBaseUrl(facts))},
    api_key=os.environ[${quote(getKeyVariable(facts))}],
)
print(model.invoke("Hello").content)
`,
      },
      {
        title: 'TypeScript',
        language: 'typescript',
        text: `import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: '${facts.main.id}',
  apiKey: process.env.${getKeyVariable(facts)},
  configuration: { baseURL: '${getBaseUrl(facts)}' },
})
const { content } = await model.invoke('Hello')
console.log(content)
`,
      },
    ],
  }),
}
