import { code } from './docs-page.ts'
import type { DocsFacts, DocsPage } from './docs-page.ts'

export const searchAndImages: DocsPage = {
  path: '/docs/search-and-images',
  title: { en: 'Web search and images', zh: '联网搜索与图像' },
  group: 'guide',
  write: (facts) => {
    const { services, site } = facts
    const { names } = services
    const tool = `mcp__${names.mcpServer}__web_search`
    const parts = createSnippets(facts)
    return {
      en: `# Web search and images

## Web search {#search}

A search returns one JSON document with sources, in the schema \`${names.searchSchema}\`. The tool, this call and a chat with \`${names.searchModel}\` give the same document at the same price.

${parts.search}

## As a tool of your agent {#mcp}

The tool server speaks MCP over HTTP. Programs that support OAuth need no key: give them the address, and approve them in the browser.

### Claude Code {#mcp-claude-code}

Your agent sees the tool as \`${tool}\`. Once, in the shell:

${parts.claude}

### Codex {#mcp-codex}

${parts.codex}

### Cursor {#mcp-cursor}

${parts.cursor}

### VS Code {#mcp-vscode}

VS Code asks for the key once and keeps it.

${parts.vscode}
${
  parts.image === null
    ? ''
    : `
## Images {#images}

The image model answers in the same shape; its content is a Markdown image. The link works for everybody who has it, until it expires: see [\`link_expired\`](${site}/docs/errors#link_expired).

${parts.image}
`
}`,
      zh: `# 联网搜索与图像

## 联网搜索 {#search}

搜索返回一份带来源的 JSON 文档，格式为 \`${names.searchSchema}\`。工具、本接口，以及使用 \`${names.searchModel}\` 对话，结果与价格完全相同。

${parts.search}

## 作为智能体的工具 {#mcp}

工具服务使用基于 HTTP 的 MCP。支持 OAuth 的程序不需要密钥：填入地址，在浏览器中批准即可。

### Claude Code {#mcp-claude-code}

智能体中显示为 \`${tool}\`。在终端执行一次：

${parts.claude}

### Codex {#mcp-codex}

${parts.codex}

### Cursor {#mcp-cursor}

${parts.cursor}

### VS Code {#mcp-vscode}

VS Code 会询问一次密钥并妥善保存。

${parts.vscode}
${
  parts.image === null
    ? ''
    : `
## 图像 {#images}

图像模型以同样的格式回答，内容是一张 Markdown 图片。持有链接的人在过期前都能查看，见 [\`link_expired\`](${site}/docs/errors#link_expired)。

${parts.image}
`
}`,
    }
  },
}

function createSnippets({ base, keyVariable, services }: DocsFacts) {
  const { names, products } = services
  const server = names.mcpServer
  const url = `${base}/mcp`
  const json = (value: unknown): string => JSON.stringify(value, null, 2)
  const headers = (reference: string) => ({ Authorization: `Bearer ${reference}` })
  const image = products.all.find(({ capabilities }) => capabilities.includes('image'))?.id
  const post = (path: string, body: string): string => `curl ${base}${path} \\
  -H "Authorization: Bearer $${keyVariable}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
  return {
    search: code(
      'sh',
      'shell',
      post('/mcp/tools/call', '{"name": "web_search", "arguments": {"query": "latest stable SQLite release"}}'),
    ),
    claude: code(
      'sh',
      'shell',
      `claude mcp add-json ${server} '${JSON.stringify({ type: 'http', url, headers: headers(`\${${keyVariable}}`) })}'`,
    ),
    codex: code(
      'toml',
      '~/.codex/config.toml',
      `[mcp_servers.${server}]\nurl = "${url}"\nbearer_token_env_var = "${keyVariable}"`,
    ),
    cursor: code(
      'json',
      '.cursor/mcp.json',
      json({ mcpServers: { [server]: { url, headers: headers(`\${env:${keyVariable}}`) } } }),
    ),
    vscode: code(
      'json',
      '.vscode/mcp.json',
      json({
        inputs: [{ type: 'promptString', id: `${names.slug}-key`, description: 'API key', password: true }],
        servers: { [server]: { type: 'http', url, headers: headers(`\${input:${names.slug}-key}`) } },
      }),
    ),
    image:
      image === undefined
        ? null
        : code(
            'sh',
            'shell',
            post(
              '/chat/completions',
              `{"model": "${image}", "messages": [{"role": "user", "content": "A lighthouse at dusk, flat colours"}]}`,
            ),
          ),
  }
}
