import { computeEffectivePrice, hasCachedPrice } from '../../config/products.ts'
import { formatNumber } from '../format.ts'
import type { Language } from '../language.ts'
import { texts } from '../texts/texts.ts'
import { code, table } from './docs-page.ts'
import type { DocsFacts, DocsPage } from './docs-page.ts'

export const models: DocsPage = {
  path: '/docs/models',
  title: { en: 'Models', zh: '模型' },
  group: 'guide',
  write: (facts) => {
    const { site, base, keyVariable } = facts
    const list = code('sh', 'shell', `curl ${base}/models -H "Authorization: Bearer $${keyVariable}"`)
    return {
      en: `# Models

Use one of these ids as \`model\`. Any other id is refused with [\`official_models_only\`](${site}/docs/errors#official_models_only).

${listModels(facts, 'en')}

Prices are in US dollars for a million tokens, after today’s discount.${describeCached(facts, 'en')} The tier decides which part of a [plan](${site}/plans) is charged.

## What each is for {#purpose}

${describeModels(facts, 'en')}

## What your key may use {#list}

${list}
`,
      zh: `# 模型

请把以下 id 作为 \`model\` 使用，其他 id 会以 [\`official_models_only\`](${site}/docs/errors#official_models_only) 拒绝。

${listModels(facts, 'zh')}

价格为每百万 token 的美元价，已计入今日折扣。${describeCached(facts, 'zh')}档位决定扣除[套餐](${site}/plans)的哪一部分。

## 各模型适合什么 {#purpose}

${describeModels(facts, 'zh')}

## 你的密钥可用的模型 {#list}

${list}
`,
    }
  },
}

function describeCached({ services }: DocsFacts, language: Language): string {
  if (!hasCachedPrice(services.config)) return ''
  return language === 'en'
    ? ' Cached input is the part of a prompt that the model read from its cache.'
    : '缓存输入是提示中由模型从缓存读取的部分。'
}

function listModels({ services }: DocsFacts, language: Language): string {
  const { home } = texts[language]
  const { config, products } = services
  const showsCached = hasCachedPrice(config)
  return table(
    [home.model, home.tier, home.context, home.input, ...(showsCached ? [home.cachedInput] : []), home.output],
    ...products.all.map(({ id, tier, contextLength }) => {
      const { effectiveInput, effectiveCachedInput, effectiveOutput } = computeEffectivePrice(config, tier)
      const prices = [effectiveInput, ...(showsCached ? [effectiveCachedInput] : []), effectiveOutput]
      return [`\`${id}\``, home[tier], formatNumber(contextLength, language), ...prices.map((price) => `$${price}`)]
    }),
  )
}

/** A list, because a column of sentences beside five of figures does not fit the text's width. */
function describeModels({ services }: DocsFacts, language: Language): string {
  const colon = language === 'en' ? ': ' : '：'
  return services.products.all
    .map(({ id, description, capabilities }) => `- \`${id}\`${colon}${description?.[language] ?? capabilities.join(', ')}`)
    .join('\n')
}
