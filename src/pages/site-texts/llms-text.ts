/** `/llms.txt` (llmstxt.org): what the service is and where its documentation is, for language models. */
import type { Services } from '../../services/services.ts'
import { docsPages } from '../docs/docs-pages.ts'
import { texts } from '../texts/texts.ts'

export function createLlmsText({ config, origins, products }: Pick<Services, 'config' | 'origins' | 'products'>): string {
  const { home, plans } = texts.en
  const models = products.all.map(
    ({ id, name, tier, description }) =>
      `- \`${id}\` (${name}, ${home[tier]})${description === null ? '' : `: ${description.en}`}`,
  )
  return `# ${config.brand.name}

> ${home.description}

- Base URL for OpenAI's SDKs: ${origins.base}/v1
- Base URL for Anthropic's SDKs: ${origins.base}
- Tool server (MCP): ${origins.base}/v1/mcp

## Models

${models.join('\n')}

## Docs

${docsPages.map(({ path, title }) => `- [${title.en}](${origins.site}${path}.md)`).join('\n')}

## Optional

- [${plans.title}](${origins.site}/plans)
`
}
