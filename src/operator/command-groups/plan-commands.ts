/** What is sold: plans with their terms, and codes. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { afterOption, limitOption } from './shared-options.ts'

export const planCommands: OperatorGroup = {
  name: 'plan',
  summary: { en: 'the terms that members have, and their subscriptions', zh: '会员的套餐条款与订阅' },
  examples: [{ line: 'svc-gateway plan list' }],
  commands: [
    defineCommand({
      name: 'list',
      summary: { en: 'list plans and terms with the number of subscribers', zh: '列出套餐和条款及订阅人数' },
      examples: [{ line: 'svc-gateway plan list' }],
      load: async () => (await import('../commands/plan.ts')).listPlans,
    }),
    defineCommand({
      name: 'move',
      summary: { en: 'move the subscriptions of some terms to others', zh: '将某条款下的订阅移到其他条款' },
      examples: [{ line: 'svc-gateway plan move --from pro@2 --to pro --dry-run' }],
      options: [
        defineText('from <terms>', { en: 'terms such as pro@2', zh: '条款，例如 pro@2' }, { required: true }),
        defineText(
          'to <terms>',
          {
            en: "terms such as pro@3, or a plan's id for what the configuration gives now",
            zh: '条款，例如 pro@3；或套餐 ID，表示配置当前的条款',
          },
          { required: true },
        ),
        defineText(
          'at <when>',
          {
            en: 'renewal, or now where the new terms give no less',
            zh: 'renewal（续期时）；新条款不少于原条款时可用 now',
          },
          { default: 'renewal' },
        ),
        defineText('reason <text>', { en: 'allows less now; members see it', zh: '允许立即减少；会员可见此原因' }),
        defineFlag('dry-run', { en: 'only report what would change', zh: '只报告会改变的内容' }),
      ],
      load: async () => (await import('../commands/plan.ts')).movePlan,
    }),
    defineCommand({
      name: 'end',
      summary: {
        en: 'end a subscription before its end; the next one begins',
        zh: '提前结束订阅；下一个订阅随即开始',
      },
      examples: [{ line: "svc-gateway plan end sub_01JAB --reason 'Paid twice'" }],
      arguments: [{ name: 'subscription', summary: { en: "the subscription's id", zh: '订阅 ID' } }],
      options: [defineText('reason <text>', { en: 'why; the member sees it', zh: '原因；会员可见' }, { required: true })],
      load: async () => (await import('../commands/plan.ts')).endSubscription,
    }),
  ],
}

export const codeCommands: OperatorGroup = {
  name: 'code',
  summary: { en: 'codes that members redeem for a plan or for credits', zh: '会员可兑换套餐或点数的兑换码' },
  examples: [{ line: 'svc-gateway code create --plan pro --for 1mo --count 10' }],
  commands: [
    defineCommand({
      name: 'create',
      summary: { en: 'create codes; they are shown once', zh: '创建兑换码；只显示一次' },
      examples: [
        { line: 'svc-gateway code create --plan pro --for 1mo --count 10' },
        { line: 'svc-gateway code create --credits 5000 --pool fast' },
      ],
      options: [
        defineText('plan <plan>', {
          en: 'plan of the configuration, whose terms of now the code keeps',
          zh: '配置中的套餐；兑换码保留其当前条款',
        }),
        defineText('for <span>', { en: 'how long the plan lasts: 30d, 1mo or 1y', zh: '套餐时长：30d、1mo 或 1y' }),
        defineText('credits <n>', {
          en: 'credits instead of a plan; a credit is a millionth of a dollar',
          zh: '以点数代替套餐；1 点为百万分之一美元',
        }),
        defineText('pool <pool>', { en: 'fast or premium', zh: 'fast 或 premium' }),
        defineText('days <n>', { en: 'days until the credits expire', zh: '点数多少天后过期' }, { defaultText: '365' }),
        defineText('count <n>', { en: 'how many codes', zh: '兑换码数量' }, { default: '1' }),
        defineText(
          'uses <n>',
          {
            en: 'how many accounts can redeem each code, once each',
            zh: '每个兑换码可供多少个账户各兑换一次',
          },
          { default: '1' },
        ),
        defineText('expires <when>', {
          en: 'until when they can be redeemed: a date, or a span such as 30d',
          zh: '兑换截止时间：日期，或时长，例如 30d',
        }),
        defineText('batch <name>', { en: 'a name by which to list and revoke them', zh: '批次名称，用于列出和作废' }),
        defineFlag('csv', { en: 'print CSV with links', zh: '输出带链接的 CSV' }),
      ],
      load: async () => (await import('../commands/code.ts')).createRedeemCodes,
    }),
    defineCommand({
      name: 'list',
      summary: {
        en: 'list codes, oldest first, without the codes themselves',
        zh: '列出兑换码（不显示码本身），最早的在前',
      },
      examples: [{ line: 'svc-gateway code list --batch may' }],
      options: [
        defineText('batch <name>', { en: 'only those of a batch', zh: '只列出某批次' }),
        defineText('prefix <characters>', {
          en: 'only those that begin with these four characters',
          zh: '只列出以这四个字符开头的',
        }),
        limitOption,
        afterOption,
      ],
      load: async () => (await import('../commands/code.ts')).listRedeemCodes,
    }),
    defineCommand({
      name: 'show',
      summary: {
        en: 'show a code by its id, first characters or whole, and who redeemed it',
        zh: '按 ID、开头字符或完整码查看兑换码及兑换者',
      },
      examples: [{ line: 'svc-gateway code show 4F7Q' }],
      arguments: [{ name: 'code', summary: { en: 'id, first characters, or the code', zh: 'ID、开头字符或兑换码' } }],
      load: async () => (await import('../commands/code.ts')).showRedeemCode,
    }),
    defineCommand({
      name: 'revoke',
      summary: {
        en: 'refuse codes from now on; what was redeemed stays',
        zh: '从现在起作废兑换码；已兑换的保留',
      },
      examples: [{ line: 'svc-gateway code revoke --batch may' }],
      arguments: [
        { name: 'code', optional: true, summary: { en: 'id, first characters, or the code', zh: 'ID、开头字符或兑换码' } },
      ],
      options: [
        defineText('batch <name>', { en: 'all of a batch', zh: '整个批次' }),
        defineText('prefix <characters>', { en: 'all that begin with these four characters', zh: '所有以这四个字符开头的' }),
      ],
      load: async () => (await import('../commands/code.ts')).revokeRedeemCodes,
    }),
  ],
}
