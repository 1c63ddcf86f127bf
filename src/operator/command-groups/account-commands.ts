/** `svc-gateway account …`: accounts, their plans and their credits. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { accountArgument, accountOption, afterOption, limitOption } from './shared-options.ts'

const email = defineText('email <address>', { en: 'email address', zh: '邮箱地址' }, { required: true })

const plan = defineText('plan <plan>', { en: 'plan of the configuration', zh: '配置中的套餐' })

export const accountCommands: OperatorGroup = {
  name: 'account',
  summary: { en: 'create and change accounts', zh: '创建和修改账户' },
  examples: [{ line: 'svc-gateway account show ann@example.com' }],
  commands: [
    defineCommand({
      name: 'create',
      summary: { en: 'create an account', zh: '创建账户' },
      examples: [{ line: 'svc-gateway account create --email ann@example.com' }],
      options: [
        email,
        { ...plan, defaultText: { en: 'its defaultPlan', zh: '配置的 defaultPlan' } },
        defineText('password <password>', { en: 'password for the website', zh: '登录网站的密码' }),
      ],
      load: async () => (await import('../commands/account/account.ts')).createAccount,
    }),
    defineCommand({
      name: 'list',
      summary: { en: 'list accounts, oldest first', zh: '列出账户，最早的在前' },
      examples: [{ line: 'svc-gateway account list --limit 100' }],
      options: [limitOption, afterOption],
      load: async () => (await import('../commands/account/account.ts')).listAccounts,
    }),
    defineCommand({
      name: 'show',
      summary: { en: 'show an account with its pools and boosts', zh: '查看账户及其额度池和加油包' },
      examples: [{ line: 'svc-gateway account show ann@example.com' }],
      arguments: [accountArgument],
      load: async () => (await import('../commands/account/account.ts')).showAccount,
    }),
    defineCommand({
      name: 'set-plan',
      summary: { en: 'change the plan; what was used stays used', zh: '更换套餐；已用额度保持不变' },
      examples: [{ line: 'svc-gateway account set-plan ann@example.com --plan pro' }],
      arguments: [accountArgument],
      options: [
        { ...plan, required: true },
        defineText('until <when>', {
          en: 'when it ends and the default plan comes back: a date, or a span such as 30d',
          zh: '何时结束并恢复默认套餐：日期，或时长，例如 30d',
        }),
      ],
      load: async () => (await import('../commands/account/account.ts')).setPlan,
    }),
    defineCommand({
      name: 'adjust',
      summary: {
        en: 'correct credits; the reason is kept, and the member sees it',
        zh: '更正点数；原因会被保留，会员可见',
      },
      examples: [{ line: "svc-gateway account adjust ann@example.com --credits 5000 --pool fast --reason 'Outage of 3 May'" }],
      arguments: [accountArgument],
      options: [
        defineText(
          'credits <n>',
          { en: 'credits to add, or with a minus to take', zh: '增加的点数，带负号则为扣除' },
          { required: true },
        ),
        defineText('pool <pool>', { en: 'fast or premium', zh: 'fast 或 premium' }, { required: true }),
        defineText('reason <text>', { en: 'why', zh: '原因' }, { required: true }),
        defineText(
          'expires <when>',
          {
            en: 'when added credits expire: a date, or a span such as 30d',
            zh: '增加的点数何时过期：日期，或时长，例如 30d',
          },
          { default: '365d' },
        ),
      ],
      load: async () => (await import('../commands/account/adjust.ts')).adjustCredits,
    }),
    defineCommand({
      name: 'set-email',
      summary: { en: 'change the address; both addresses receive an email', zh: '更换邮箱；新旧地址都会收到邮件' },
      examples: [{ line: 'svc-gateway account set-email ann@example.com --email ann@example.org' }],
      arguments: [accountArgument],
      options: [{ ...email, summary: { en: 'the new email address', zh: '新的邮箱地址' } }],
      load: async () => (await import('../commands/account/account.ts')).setEmail,
    }),
    defineCommand({
      name: 'unlink-provider',
      summary: {
        en: 'let members of a sign-in provider link again, when its identities have changed',
        zh: '登录提供方的身份标识变更后，让其会员重新关联',
      },
      examples: [{ line: 'svc-gateway account unlink-provider company --account ann@example.com' }],
      arguments: [{ name: 'id', summary: { en: "the provider's id in the configuration", zh: '配置中提供方的 ID' } }],
      options: [
        accountOption,
        defineFlag('all', { en: 'all accounts that are linked to the provider', zh: '所有关联该提供方的账户' }),
      ],
      load: async () => (await import('../commands/account/account.ts')).unlinkProvider,
    }),
    defineCommand({
      name: 'set-role',
      summary: { en: 'let the account operate the service, or no longer', zh: '授予或收回账户的管理角色' },
      examples: [
        { line: 'svc-gateway account set-role ann@example.com --role owner' },
        { line: 'svc-gateway account set-role ann@example.com --role none', text: { en: 'take the role', zh: '收回角色' } },
      ],
      arguments: [accountArgument],
      options: [
        {
          name: 'role',
          kind: 'text',
          placeholder: 'role',
          required: true,
          choices: ['owner', 'operator', 'support', 'finance', 'reader', 'none'],
          summary: { en: 'what it may do; none takes the role', zh: '可执行的操作；none 表示收回角色' },
        },
        {
          name: 'reason',
          kind: 'text',
          placeholder: 'text',
          summary: { en: 'why; kept in the audit log', zh: '原因；记入审计日志' },
        },
        {
          name: 'reset-second-factor',
          kind: 'flag',
          summary: { en: 'remove a second factor that was lost', zh: '移除已丢失的两步验证' },
        },
      ],
      load: async () => (await import('../commands/account/account.ts')).setRole,
    }),
    defineCommand({
      name: 'disable',
      summary: { en: 'refuse its requests until it is enabled', zh: '拒绝该账户的请求，直至重新启用' },
      examples: [{ line: 'svc-gateway account disable ann@example.com' }],
      arguments: [accountArgument],
      load: async () => {
        const { setStatus } = await import('../commands/account/account.ts')
        return (id, options) => setStatus(id, 'disabled', options)
      },
    }),
    defineCommand({
      name: 'enable',
      summary: { en: 'accept its requests again', zh: '重新接受该账户的请求' },
      examples: [{ line: 'svc-gateway account enable ann@example.com' }],
      arguments: [accountArgument],
      load: async () => {
        const { setStatus } = await import('../commands/account/account.ts')
        return (id, options) => setStatus(id, 'active', options)
      },
    }),
    defineCommand({
      name: 'delete',
      summary: { en: 'delete the personal data; the ledger stays', zh: '删除个人数据；账本保留' },
      examples: [{ line: 'svc-gateway account delete ann@example.com --yes' }],
      arguments: [accountArgument],
      options: [
        defineFlag('yes', { en: 'confirm the deletion', zh: '确认删除' }),
        defineFlag('without-provider', {
          en: 'do not ask the payment provider: its renewal was ended there in another way',
          zh: '不再询问支付服务：续费已在其后台取消',
        }),
      ],
      load: async () => (await import('../commands/account/account.ts')).deleteAccount,
    }),
  ],
}
