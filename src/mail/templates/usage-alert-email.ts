/** The email about a window of a pool that is nearly or completely used up: what is used, when it resets, and how to go on. */
import type { Window } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type { Reader } from '../../domain/identity/reader.ts'
import type { UsageAlertFacts } from '../../domain/member-mailer.ts'
import type { EmailBlock } from './email-layout.ts'
import { formatEmailTime, note, renderEmail, text } from './email-templates.ts'
import type { EmailContent, SenderIdentity } from './email-templates.ts'

export function renderUsageAlertEmail({ name, site }: SenderIdentity, facts: UsageAlertFacts, reader: Reader): EmailContent {
  const { pool, window, level, used, limit, resetsAt, inPacks, availableBoost, otherPoolHasRoom, canUpgrade } = facts
  const other = pool === 'fast' ? 'premium' : 'fast'
  const unsubscribeUrl = `${site}/unsubscribe?token=${facts.unsubscribeToken}`
  const isUsedUp = level === 100
  const english = (amount: number): string => new Intl.NumberFormat('en-GB').format(amount)
  const chinese = (amount: number): string => new Intl.NumberFormat('zh-CN').format(amount)
  const percent = Math.floor((used * 100) / limit)
  const content = renderEmail(
    'usage_alert',
    { name, reader },
    {
      en: {
        subject: isUsedUp
          ? `${name}: ${windowNames[window].en} ${poolNames[pool].en} usage is used up`
          : `${name}: ${percent} % of ${windowNames[window].en} ${poolNames[pool].en} usage is used`,
        blocks: [
          text(
            `${english(used)} of ${windowNames[window].en} ${english(limit)} credits for ${poolNames[pool].en} models are used. They reset on ${formatEmailTime(resetsAt, 'en', reader)}.`,
          ),
          ...(inPacks > 0 ? [text(`Your boost packs pay after that: ${english(inPacks)} credits are left in them.`)] : []),
          ...(isUsedUp && otherPoolHasRoom
            ? [text(`Your usage of ${poolNames[other].en} models has room, so you can go on with one of them now.`)]
            : []),
          ...(availableBoost > 0
            ? [
                text(`A boost adds ${english(availableBoost)} credits for ${poolNames[pool].en} models.`),
                link('Get a boost', `${site}/account/boosts`),
              ]
            : []),
          ...(canUpgrade ? [text('A larger plan has more room at once.'), link('Compare plans', `${site}/plans`)] : []),
          note(`You switched these emails on in your profile: ${site}/account/profile`),
          note('Switch these emails off', unsubscribeUrl),
        ],
      },
      zh: {
        subject: isUsedUp
          ? `${name}：${windowNames[window].zh}的${poolNames[pool].zh}模型额度已用完`
          : `${name}：${windowNames[window].zh}的${poolNames[pool].zh}模型额度已使用 ${percent}%`,
        blocks: [
          text(
            `${windowNames[window].zh}的${poolNames[pool].zh}模型额度共 ${chinese(limit)} 点，已使用 ${chinese(used)} 点，将于 ${formatEmailTime(resetsAt, 'zh', reader)} 重置。`,
          ),
          ...(inPacks > 0 ? [text(`之后将使用加油包，其中还剩 ${chinese(inPacks)} 点。`)] : []),
          ...(isUsedUp && otherPoolHasRoom ? [text(`${poolNames[other].zh}模型的额度仍有剩余，现在可以改用其中的模型。`)] : []),
          ...(availableBoost > 0
            ? [
                text(`领取加油包可获得 ${chinese(availableBoost)} 点${poolNames[pool].zh}模型额度。`),
                link('领取加油包', `${site}/account/boosts`),
              ]
            : []),
          ...(canUpgrade ? [text('升级套餐可立即获得更多额度。'), link('比较套餐', `${site}/plans`)] : []),
          note(`你在资料页开启了此类邮件：${site}/account/profile`),
          note('关闭此类邮件', unsubscribeUrl),
        ],
      },
    },
  )
  return { ...content, unsubscribeUrl }
}

const link = (label: string, url: string): EmailBlock => ({ kind: 'link', label, url })

const windowNames = {
  day: { en: "today's", zh: '今日' },
  week: { en: "this week's", zh: '本周' },
  month: { en: "this month's", zh: '本月' },
} as const satisfies Record<Window, object>

const poolNames = { fast: { en: 'Fast', zh: '快速' }, premium: { en: 'Premium', zh: '高级' } } as const satisfies Record<
  Pool,
  object
>
