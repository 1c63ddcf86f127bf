/** What members have beside their account: keys, boost packs, rushes. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { accountOption, limitOption } from './shared-options.ts'

const pool = defineText('pool <pool>', { en: 'fast or premium', zh: 'fast 或 premium' })

export const keyCommands: OperatorGroup = {
  name: 'key',
  summary: { en: 'create and revoke API keys', zh: '创建和吊销 API 密钥' },
  examples: [{ line: 'svc-gateway key list --account ann@example.com' }],
  commands: [
    defineCommand({
      name: 'create',
      summary: { en: 'create a key; it is shown once', zh: '创建密钥；只显示一次' },
      examples: [{ line: 'svc-gateway key create --account ann@example.com --name laptop' }],
      options: [
        { ...accountOption, required: true },
        defineText('name <name>', { en: 'its purpose', zh: '用途' }, { required: true }),
        defineText('expires-in-days <n>', { en: 'days until it expires', zh: '多少天后过期' }),
      ],
      load: async () => (await import('../commands/key.ts')).createKey,
    }),
    defineCommand({
      name: 'list',
      summary: { en: "list an account's keys", zh: '列出账户的密钥' },
      examples: [{ line: 'svc-gateway key list --account ann@example.com' }],
      options: [{ ...accountOption, required: true }],
      load: async () => (await import('../commands/key.ts')).listKeys,
    }),
    defineCommand({
      name: 'revoke',
      summary: { en: 'end a key', zh: '吊销密钥' },
      examples: [{ line: 'svc-gateway key revoke key_01JAB' }],
      arguments: [{ name: 'key', summary: { en: "the key's id", zh: '密钥 ID' } }],
      load: async () => (await import('../commands/key.ts')).revokeKey,
    }),
  ],
}

export const boostCommands: OperatorGroup = {
  name: 'boost',
  summary: { en: 'grant boost packs', zh: '发放加油包' },
  examples: [{ line: 'svc-gateway boost grant --account ann@example.com --pool fast --credits 5000 --expires 30d' }],
  commands: [
    defineCommand({
      name: 'grant',
      summary: { en: 'give an account a pack of credits', zh: '向账户发放一个加油包' },
      examples: [{ line: 'svc-gateway boost grant --account ann@example.com --pool fast --credits 5000 --expires 30d' }],
      options: [
        { ...accountOption, required: true },
        { ...pool, required: true },
        defineText('credits <n>', { en: 'a credit is a millionth of a dollar', zh: '1 点为百万分之一美元' }, { required: true }),
        defineText('expires <when>', { en: 'a date, or a span such as 30d', zh: '日期，或时长，例如 30d' }, { required: true }),
      ],
      load: async () => (await import('../commands/boost.ts')).grantBoost,
    }),
  ],
}

export const rushCommands: OperatorGroup = {
  name: 'rush',
  summary: { en: 'boost packs for the first members who claim them', zh: '先到先得的加油包' },
  examples: [{ line: 'svc-gateway rush open --packs 100 --ends 2h' }],
  commands: [
    defineCommand({
      name: 'open',
      summary: { en: 'open a rush; one pack an account', zh: '开启一次抢购；每个账户一包' },
      examples: [{ line: 'svc-gateway rush open --packs 100 --ends 2h' }],
      options: [
        defineText('packs <n>', { en: 'how many', zh: '数量' }, { required: true }),
        defineText(
          'credits <n>',
          { en: 'of each pack', zh: '每包的点数' },
          { defaultText: { en: 'the configuration', zh: '配置中的值' } },
        ),
        { ...pool, defaultText: { en: 'the configuration', zh: '配置中的值' } },
        defineText(
          'starts <when>',
          { en: 'a date, or a span such as 2h from now', zh: '日期，或从现在起的时长，例如 2h' },
          { default: 'now' },
        ),
        defineText(
          'ends <when>',
          { en: 'a date, or a span such as 2h from now', zh: '日期，或从现在起的时长，例如 2h' },
          { required: true },
        ),
        defineFlag('allow-overlap', { en: 'also where another rush runs at that time', zh: '即使同时有另一次抢购也开启' }),
      ],
      load: async () => (await import('../commands/rush.ts')).createRush,
    }),
    defineCommand({
      name: 'list',
      summary: { en: 'list rushes, newest first, with the packs left', zh: '列出抢购及剩余包数，最新的在前' },
      examples: [{ line: 'svc-gateway rush list' }],
      options: [limitOption],
      load: async () => (await import('../commands/rush.ts')).listRushes,
    }),
    defineCommand({
      name: 'close',
      summary: { en: 'end a rush now; packs that were taken stay', zh: '立即结束抢购；已领取的包保留' },
      examples: [{ line: 'svc-gateway rush close rush_01JAB' }],
      arguments: [{ name: 'rush', summary: { en: "the rush's id", zh: '抢购 ID' } }],
      load: async () => (await import('../commands/rush.ts')).closeRush,
    }),
  ],
}
