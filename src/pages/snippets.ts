/** How each tool is connected, with the reader's own addresses in place. Plain text; the page escapes it. */
import type { Services } from '../gateway/services.ts'

/** Where a reader's keys come from in every snippet. */
function keyVariable({ names }: Services): string {
  return `${names.slug.toUpperCase()}_API_KEY`
}

export function snippets(services: Services) {
  const { origins, names, products } = services
  const base = `${origins.base}/v1`
  const key = keyVariable(services)
  const server = names.mcpServer
  const firstWith = (capability: 'chat' | 'image'): string | undefined =>
    products.all.find(({ capabilities }) => capabilities.includes(capability))?.id
  const model = firstWith('chat') ?? 'auto'
  const better = products.all.find(({ tier, capabilities }) => tier === 'flagship' && capabilities.includes('chat'))?.id ?? model
  const image = firstWith('image')
  const json = (value: unknown): string => JSON.stringify(value, null, 2)
  const mcpHeaders = (reference: string) => ({ Authorization: `Bearer ${reference}` })

  return {
    env: `export ${key}="${names.keyPrefix}…"`,
    curl: `curl ${base}/chat/completions \\
  -H "Authorization: Bearer $${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    python: `import os
from openai import OpenAI

client = OpenAI(base_url="${base}", api_key=os.environ["${key}"])

stream = client.chat.completions.create(
    model="${better}",
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    javascript: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.${key} })

const stream = await client.chat.completions.create({
  model: '${better}',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')`,
    image:
      image === undefined
        ? null
        : `curl ${base}/chat/completions \\
  -H "Authorization: Bearer $${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${image}", "messages": [{"role": "user", "content": "A lighthouse at dusk, flat colours"}]}'`,
    search: `curl ${base}/mcp/tools/call \\
  -H "Authorization: Bearer $${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "web_search", "arguments": {"query": "latest stable SQLite release"}}'`,
    claude: json({ mcpServers: { [server]: { type: 'http', url: `${base}/mcp`, headers: mcpHeaders(`\${${key}}`) } } }),
    claudeShell: `claude mcp add-json ${server} '${JSON.stringify({ type: 'http', url: `${base}/mcp`, headers: mcpHeaders(`\${${key}}`) })}'`,
    cursor: json({ mcpServers: { [server]: { url: `${base}/mcp`, headers: mcpHeaders(`\${env:${key}}`) } } }),
    vscode: json({
      inputs: [{ type: 'promptString', id: `${names.slug}-key`, description: 'API key', password: true }],
      servers: { [server]: { type: 'http', url: `${base}/mcp`, headers: mcpHeaders(`\${input:${names.slug}-key}`) } },
    }),
    codex: `[mcp_servers.${server}]
url = "${base}/mcp"
bearer_token_env_var = "${key}"`,
    openWebUi: `docker run -d -p 3000:8080 \\
  -e OPENAI_API_BASE_URL=${base} \\
  -e OPENAI_API_KEY="$${key}" \\
  -v open-webui:/app/backend/data \\
  ghcr.io/open-webui/open-webui:main`,
    // Without a version, LibreChat refuses the whole file.
    libreChat: `version: 1.3.17
endpoints:
  custom:
    - name: "${services.config.brand.name}"
      apiKey: "\${${key}}"
      baseURL: "${base}"
      models:
        default: ["${model}", "${better}"]
        fetch: true
      titleConvo: true
      titleModel: "${model}"`,
    cli: `${services.config.brand.cliPackageUrl === null ? '' : `npm install --global ${services.config.brand.cliPackageUrl}\n`}export SVC_SITE_URL="${origins.site}"
${names.slug} login
${names.slug} whoami`,
    device: `curl -X POST ${origins.site}/api/membership/auth/device/start \\
  -H "Content-Type: application/json" -d '{"client": "${names.cliClient}"}'

curl -X POST ${origins.site}/api/membership/auth/device/poll \\
  -H "Content-Type: application/json" -d '{"device_code": "…"}'`,
  }
}
