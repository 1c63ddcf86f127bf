import { code } from './docs-page.ts'
import type { DocsFacts, DocsPage } from './docs-page.ts'

export const sdks: DocsPage = {
  path: '/docs/sdks',
  title: { en: 'SDK samples', zh: 'SDK 示例' },
  group: 'guide',
  write: (facts) => {
    const { site } = facts
    const samples = createSamples(facts)
    return {
      en: `# SDK samples

The official packages work unchanged: only the address and the key differ. The key is read from the environment.

## OpenAI for Python {#python}

${samples.python}

## OpenAI for JavaScript {#javascript}

${samples.javascript}

## Responses {#responses}

The newer API of OpenAI. Answers are not stored here, so each request has the whole conversation.

${samples.responses}

## Anthropic for Python {#anthropic-python}

The address has no \`/v1\`: the package adds it.

${samples.anthropicPython}

## Anthropic for JavaScript {#anthropic-javascript}

${samples.anthropicJavascript}

Frameworks such as the Vercel AI SDK and LangChain are under [tools](${site}/docs/tools).
`,
      zh: `# SDK 示例

官方包无需修改，只需换上地址与密钥。密钥从环境变量读取。

## OpenAI Python {#python}

${samples.python}

## OpenAI JavaScript {#javascript}

${samples.javascript}

## Responses {#responses}

OpenAI 较新的接口。此处不保存回答，因此每次请求都要带上完整对话。

${samples.responses}

## Anthropic Python {#anthropic-python}

地址不带 \`/v1\`，该包会自动添加。

${samples.anthropicPython}

## Anthropic JavaScript {#anthropic-javascript}

${samples.anthropicJavascript}

Vercel AI SDK、LangChain 等框架见[工具](${site}/docs/tools)。
`,
    }
  },
}

function createSamples({ base, keyVariable, setup }: DocsFacts) {
  const { id } = setup.main
  return {
    python: code(
      'python',
      'python',
      `import os
from openai import OpenAI

client = OpenAI(base_url="${base}", api_key=os.environ["${keyVariable}"])

stream = client.chat.completions.create(
    model="${id}",
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    ),
    javascript: code(
      'javascript',
      'javascript',
      `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.${keyVariable} })

const stream = await client.chat.completions.create({
  model: '${id}',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')`,
    ),
    responses: code(
      'python',
      'python',
      `response = client.responses.create(model="${id}", input="Hello", store=False)
print(response.output_text)`,
    ),
    anthropicPython: code(
      'python',
      'python',
      `import os
from anthropic import Anthropic

client = Anthropic(base_url="${setup.apiUrl}", auth_token=os.environ["${keyVariable}"])

message = client.messages.create(
    model="${id}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    ),
    anthropicJavascript: code(
      'javascript',
      'javascript',
      `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${setup.apiUrl}', authToken: process.env.${keyVariable} })

const stream = client.messages.stream({
  model: '${id}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage()`,
    ),
  }
}
