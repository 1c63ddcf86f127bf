/** What is sold: plans with their terms, and codes. */
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
        {
          name: 'from',
          kind: 'text',
          placeholder: 'terms',
          required: true,
          summary: { en: 'terms such as pro@2', zh: '条款，例如 pro@2' },
        },
        {
          name: 'to',
          kind: 'text',
          placeholder: 'terms',
          required: true,
          summary: {
            en: "terms such as pro@3, or a plan's id for what the configuration gives now",
            zh: '条款，例如 pro@3；或套餐 ID，表示配置当前的条款',
          },
        },
        {
          name: 'at',
          kind: 'text',
          placeholder: 'when',
          default: 'renewal',
          summary: {
            en: 'renewal, or now where the new terms give no less',
            zh: 'renewal（续期时）；新条款不少于原条款时可用 now',
          },
        },
        {
          name: 'reason',
          kind: 'text',
          placeholder: 'text',
          summary: { en: 'allows less now; members see it', zh: '允许立即减少；会员可见此原因' },
        },
        { name: 'dry-run', kind: 'flag', summary: { en: 'only report what would change', zh: '只报告会改变的内容' } },
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
      options: [
        {
          name: 'reason',
          kind: 'text',
          placeholder: 'text',
          required: true,
          summary: { en: 'why; the member sees it', zh: '原因；会员可见' },
        },
      ],
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
        {
          name: 'plan',
          kind: 'text',
          placeholder: 'plan',
          summary: {
            en: 'plan of the configuration, whose terms of now the code keeps',
            zh: '配置中的套餐；兑换码保留其当前条款',
          },
        },
        {
          name: 'for',
          kind: 'text',
          placeholder: 'span',
          summary: { en: 'how long the plan lasts: 30d, 1mo or 1y', zh: '套餐时长：30d、1mo 或 1y' },
        },
        {
          name: 'credits',
          kind: 'text',
          placeholder: 'n',
          summary: {
            en: 'credits instead of a plan; a credit is a millionth of a dollar',
            zh: '以点数代替套餐；1 点为百万分之一美元',
          },
        },
        { name: 'pool', kind: 'text', placeholder: 'pool', summary: { en: 'fast or premium', zh: 'fast 或 premium' } },
        {
          name: 'days',
          kind: 'text',
          placeholder: 'n',
          summary: { en: 'days until the credits expire', zh: '点数多少天后过期' },
          defaultText: '365',
        },
        { name: 'count', kind: 'text', placeholder: 'n', default: '1', summary: { en: 'how many codes', zh: '兑换码数量' } },
        {
          name: 'uses',
          kind: 'text',
          placeholder: 'n',
          default: '1',
          summary: {
            en: 'how many accounts can redeem each code, once each',
            zh: '每个兑换码可供多少个账户各兑换一次',
          },
        },
        {
          name: 'expires',
          kind: 'text',
          placeholder: 'when',
          summary: {
            en: 'until when they can be redeemed: a date, or a span such as 30d',
            zh: '兑换截止时间：日期，或时长，例如 30d',
          },
        },
        {
          name: 'batch',
          kind: 'text',
          placeholder: 'name',
          summary: { en: 'a name by which to list and revoke them', zh: '批次名称，用于列出和作废' },
        },
        { name: 'csv', kind: 'flag', summary: { en: 'print CSV with links', zh: '输出带链接的 CSV' } },
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
        { name: 'batch', kind: 'text', placeholder: 'name', summary: { en: 'only those of a batch', zh: '只列出某批次' } },
        {
          name: 'prefix',
          kind: 'text',
          placeholder: 'characters',
          summary: { en: 'only those that begin with these four characters', zh: '只列出以这四个字符开头的' },
        },
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
        { name: 'batch', kind: 'text', placeholder: 'name', summary: { en: 'all of a batch', zh: '整个批次' } },
        {
          name: 'prefix',
          kind: 'text',
          placeholder: 'characters',
          summary: { en: 'all that begin with these four characters', zh: '所有以这四个字符开头的' },
        },
      ],
      load: async () => (await import('../commands/code.ts')).revokeRedeemCodes,
    }),
  ],
}
