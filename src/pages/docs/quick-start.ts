import { code, table } from './docs-page.ts'
import type { DocsPage } from './docs-page.ts'

export const quickStart: DocsPage = {
  path: '/docs',
  title: { en: 'Quick start', zh: '快速开始' },
  group: 'guide',
  write: ({ site, base, keyVariable, key, setup, services }) => {
    const exportCommand = code('sh', 'shell', `export ${keyVariable}="${key}"`)
    const request = code(
      'sh',
      'shell',
      `curl ${base}/chat/completions \\
  -H "Authorization: Bearer $${keyVariable}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${setup.fast.id}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    )
    const mcp = `${base}/mcp`
    return {
      en: `# Quick start

Three steps to the first answer. All snippets have the addresses of this site.

## 1. Make a key {#key}

[Make a key](${site}/keys) and keep it in the environment. It is shown once.

${exportCommand}

## 2. Send a request {#request}

${request}

With \`"stream": true\` the answer arrives word by word, as server-sent events that end with \`[DONE]\`.

## 3. Connect your tools {#connect}

[Settings to paste](${site}/docs/tools) exist for Codex, Claude Code, Cursor and others, and [SDK samples](${site}/docs/sdks) for code.

## Addresses {#addresses}

${table(
  ['For', 'Address'],
  ['OpenAI’s SDKs: chat completions, responses, models', `\`${base}\``],
  ['Anthropic’s SDKs: messages', `\`${services.origins.base}\``],
  ['Tool server (MCP)', `\`${mcp}\``],
)}
`,
      zh: `# 快速开始

三步得到第一个回答。所有示例都已填入本站的地址。

## 1. 创建密钥 {#key}

[创建密钥](${site}/keys)并保存到环境变量。密钥只显示一次。

${exportCommand}

## 2. 发送请求 {#request}

${request}

加上 \`"stream": true\`，回答会以服务器推送事件逐字到达，并以 \`[DONE]\` 结束。

## 3. 连接你的工具 {#connect}

Codex、Claude Code、Cursor 等工具有[可直接粘贴的配置](${site}/docs/tools)，代码可参考 [SDK 示例](${site}/docs/sdks)。

## 地址 {#addresses}

${table(
  ['用途', '地址'],
  ['OpenAI SDK：对话补全、Responses、模型列表', `\`${base}\``],
  ['Anthropic SDK：Messages', `\`${services.origins.base}\``],
  ['工具服务（MCP）', `\`${mcp}\``],
)}
`,
    }
  },
}
