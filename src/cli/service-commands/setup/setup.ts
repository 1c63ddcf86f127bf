/** `svc setup`: shows how a program is configured for the service, and with `--write` changes its settings file. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { listModels } from '../../../api/models/models.ts'
import type { ClientSetup, SetupFacts, SetupFile } from '../../../setup/client-setup.ts'
import { chooseModels, createClientSetup, createClientSetups, isClientId } from '../../../setup/client-setups.ts'
import type { SetupCandidate } from '../../../setup/client-setups.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { CommandFailure, createUsageFailure } from '../../failure.ts'
import { drawTable } from '../../terminal/draw-table.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { callEndpoint } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'
import type { Credential, Site } from '../client/site.ts'
import { findSetting, mergeSettings } from './merge-settings.ts'
import { assertWritable, locateSettingsFile, readSettingsFile, writeSettingsFile } from './settings-file.ts'
import type { SettingsFile } from './settings-file.ts'
import { createDifference, styleDifference } from './show-difference.ts'

export const run: CommandHandler = async (context, args, options) => {
  const id = args.getText('client')
  const site = readSite(context)
  if (id === undefined) {
    if (options.getFlag('write')) throw createUsageFailure({ en: 'Name the program to set up.', zh: '请指定要设置的程序。' })
    return listClients(context, site)
  }
  if (!isClientId(id)) throw createUsageFailure({ en: `There is no client ${id}.`, zh: `没有名为 ${id} 的客户端。` })
  const credential = requireCredential(context, site, 'any')
  const facts = await loadFacts(context, site, credential, options.getText('model'))
  const clientSetup = createClientSetup(id, facts)
  const isWriting = options.getFlag('write')
  const plans = await Promise.all(
    clientSetup.files.map((file, index) =>
      planChange(context, file, (key) => createClientSetup(id, { ...facts, key }).files[index] ?? file, site, credential),
    ),
  )
  if (isWriting) {
    if (plans.length === 0)
      throw new CommandFailure(
        'no_settings_file',
        { en: `${clientSetup.name} has no settings file to write.`, zh: `${clientSetup.name} 没有可写入的配置文件。` },
        { hints: [{ en: `run: svc setup ${id}`, zh: `请运行：svc setup ${id}` }] },
      )
    requireKeys(plans)
    for (const { file, after } of plans) if (after !== file.text) assertWritable(file)
  }
  if (!context.json) context.printResult(null, () => describe(context, clientSetup, plans))
  const writtenFiles = isWriting ? plans.map((plan) => write(context, plan)) : []
  if (context.json) context.printResult(toDocument(clientSetup, plans, writtenFiles), () => '')
  else printOutcome(context, clientSetup, plans, writtenFiles)
}

/** What happens to one file. */
interface ChangePlan {
  readonly file: SettingsFile
  readonly after: string
  readonly difference: string
  /** The file contains the key of the member. */
  readonly hasKey: boolean
  /** The key would be a placeholder, so the file cannot be written. */
  readonly needsKey: boolean
}

interface WrittenFile {
  readonly path: string
  readonly backup: string | undefined
  readonly changed: boolean
}

function listClients(context: Context, site: Site): void {
  const model = { id: '', name: '', contextLength: 0, maxOutputTokens: 0, images: false }
  const setups = createClientSetups({
    apiUrl: site.apiUrl,
    slug: site.brand,
    serviceName: site.brand,
    key: '',
    main: model,
    fast: model,
  })
  const rows = setups.map(({ id, name, api, files }) => ({ id, name, api, files: files.map(({ path }) => path) }))
  context.printResult(rows, () =>
    drawTable(context, rows, [
      { heading: context.localize({ en: 'CLIENT', zh: '客户端' }), cell: ({ id }) => id },
      { heading: context.localize({ en: 'NAME', zh: '名称' }), cell: ({ name }) => name },
      { heading: context.localize({ en: 'API FORMAT', zh: 'API 格式' }), cell: ({ api }) => api, drop: 1 },
      { heading: context.localize({ en: 'WRITES', zh: '写入' }), cell: ({ files }) => files.join(' ') || '–' },
    ]),
  )
}

/** The products of the member's plan, and a placeholder for the key. */
async function loadFacts(context: Context, site: Site, credential: Credential, mainId: string | undefined): Promise<SetupFacts> {
  const { answer } = await callEndpoint<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential })
  const products = (Array.isArray(answer.data) ? answer.data : []).flatMap((model) => toCandidate(model) ?? [])
  const models = chooseModels(products, mainId)
  if (models !== undefined)
    return { apiUrl: site.apiUrl, slug: site.brand, serviceName: site.brand, key: createPlaceholder(site), ...models }
  if (mainId !== undefined)
    throw createUsageFailure({ en: `Your plan has no chat model ${mainId}.`, zh: `你的套餐没有对话模型 ${mainId}。` }, [
      { en: 'run: svc models', zh: '请运行：svc models' },
    ])
  throw new CommandFailure(
    'no_models',
    { en: 'Your plan has no model that can chat.', zh: '你的套餐没有可用于对话的模型。' },
    { exit: 'notFound' },
  )
}

function toCandidate(model: DeepPartial<ResponseOf<typeof listModels>['data'][number]>): SetupCandidate | undefined {
  const { id, name, tier, capabilities, context_length: contextLength, max_output_tokens: maxOutputTokens } = model
  // Ids become part of code and of commands.
  if (typeof id !== 'string' || !/^[\w.:/-]{1,100}$/.test(id) || !Array.isArray(capabilities)) return undefined
  if (typeof contextLength !== 'number' || typeof maxOutputTokens !== 'number') return undefined
  return {
    id,
    name: typeof name === 'string' ? sanitizeLine(name) : id,
    tier: String(tier),
    capabilities: capabilities.map(String),
    contextLength,
    maxOutputTokens,
  }
}

function createPlaceholder({ brand }: Site): string {
  return `${brand}_live_…`
}

/** `create` makes the file with a key: that of the environment, else the service's key that the member's file has already. */
async function planChange(
  context: Context,
  shown: SetupFile,
  create: (key: string) => SetupFile,
  site: Site,
  credential: Credential,
): Promise<ChangePlan> {
  const file = readSettingsFile(locateSettingsFile(shown, context.environment))
  const { keyPath } = shown
  if (keyPath === undefined) {
    const text = await mergeSettings(shown, file.text, file.path)
    return { file, after: text, difference: createDifference(file.path, file.text, text, []), hasKey: false, needsKey: false }
  }
  const settingValue = file.text === undefined ? undefined : await findSetting(shown, file.text, keyPath)
  const oldKey = typeof settingValue === 'string' && settingValue !== '' ? settingValue : undefined
  const isOurs = oldKey !== undefined && oldKey.startsWith(`${site.brand}_live_`) && oldKey !== createPlaceholder(site)
  const key = credential.from === 'SVC_API_KEY' ? credential.token : isOurs ? oldKey : undefined
  const text = await mergeSettings(key === undefined ? shown : create(key), file.text, file.path)
  const secrets = [key, oldKey].filter((secret) => secret !== undefined)
  return {
    file,
    after: text,
    difference: createDifference(file.path, file.text, text, secrets),
    hasKey: true,
    needsKey: key === undefined,
  }
}

function requireKeys(plans: readonly ChangePlan[]): void {
  const plan = plans.find(({ needsKey }) => needsKey)
  if (plan === undefined) return
  throw new CommandFailure(
    'key_required',
    {
      en: `${plan.file.path} contains the key, and SVC_API_KEY is not set; nothing was written.`,
      zh: `${plan.file.path} 需要包含密钥，但未设置 SVC_API_KEY；未写入任何内容。`,
    },
    {
      exit: 'signIn',
      hints: [
        { en: 'create a key at the address that this prints: svc keys', zh: '在以下命令显示的页面创建密钥：svc keys' },
        { en: 'then set SVC_API_KEY to it, and run the command again', zh: '然后将其设置为 SVC_API_KEY，并重新运行该命令' },
      ],
    },
  )
}

function write(context: Context, { file, after, hasKey }: ChangePlan): WrittenFile {
  if (after === file.text) return { path: file.path, backup: undefined, changed: false }
  const backup = writeSettingsFile(file, after, { isSecret: hasKey, now: context.now() })
  return { path: file.path, backup, changed: true }
}

function describe(context: Context, setup: ClientSetup, plans: readonly ChangePlan[]): string {
  const { dialog, fields, snippets, notes } = setup
  const parts = plans.map(({ file, difference }) =>
    difference === ''
      ? context.localize({ en: `${file.path} has these settings already.`, zh: `${file.path} 已包含这些设置。` })
      : styleDifference(difference, context.stdout.styled).trimEnd(),
  )
  if (fields.length > 0) {
    const rows = fields.map(({ label, value }) => `  ${label}: ${value}`)
    parts.push([`${context.localize(dialog ?? { en: 'Settings', zh: '设置' })}:`, ...rows].join('\n'))
  }
  for (const { title, text } of snippets) parts.push(`# ${title}\n${text.trimEnd()}`)
  if (notes.length > 0) parts.push(notes.map((note) => `- ${context.localize(note)}`).join('\n'))
  return parts.join('\n\n')
}

function printOutcome(
  context: Context,
  { id }: ClientSetup,
  plans: readonly ChangePlan[],
  written: readonly WrittenFile[],
): void {
  for (const { path, backup, changed } of written) {
    if (changed) context.printNote({ en: `Wrote ${path}`, zh: `已写入 ${path}` })
    if (backup !== undefined) context.printNote({ en: `The old file is kept as ${backup}`, zh: `原文件保存为 ${backup}` })
  }
  for (const { file, hasKey, after } of plans) {
    if (hasKey && written.length > 0 && after !== file.text && ((file.mode ?? 0) & 0o077) !== 0)
      context.printNote({
        en: `Other users of this machine can read ${file.path}, which contains your key: chmod 600 ${file.path}`,
        zh: `本机其他用户可以读取包含密钥的 ${file.path}：chmod 600 ${file.path}`,
      })
  }
  if (written.length === 0 && plans.some(({ difference }) => difference !== ''))
    context.printNote({
      en: `Nothing was written. To write it: svc setup ${id} --write`,
      zh: `未写入任何内容。如需写入：svc setup ${id} --write`,
    })
}

function toDocument(setup: ClientSetup, plans: readonly ChangePlan[], written: readonly WrittenFile[]): object {
  const { id, name, api, fields, snippets, notes } = setup
  return {
    client: id,
    name,
    api_format: api,
    files: plans.map(({ file, difference }, index) => ({
      path: file.path,
      exists: file.text !== undefined,
      difference,
      written: written[index]?.changed ?? false,
      backup: written[index]?.backup ?? null,
    })),
    fields,
    snippets,
    notes: notes.map(({ en }) => en),
  }
}
