/** The commands of `svc config`. `settings.ts` defines the settings and their file. */
import type { CommandHandler } from '../command.ts'
import { createUsageFailure } from '../failure.ts'
import type { SettingName } from '../user-config/settings.ts'
import { isSettingName, Settings, settings } from '../user-config/settings.ts'
import { drawTable } from '../terminal/draw-table.ts'

const names = Object.keys(settings).filter(isSettingName)

/** Lists every setting, its value, and the source of the value. */
export const list: CommandHandler = async (context) => {
  const storedSettings = new Settings(context.environment)
  const rows = names.map((name) => ({ name, ...storedSettings.get(name) }))
  context.printResult(Object.fromEntries(rows.map(({ name, value, from }) => [name, { value: value ?? null, from }])), () =>
    drawTable(context, rows, [
      { heading: context.localize({ en: 'SETTING', zh: '设置' }), cell: (row) => row.name },
      { heading: context.localize({ en: 'VALUE', zh: '值' }), cell: (row) => row.value ?? '–' },
      {
        heading: context.localize({ en: 'FROM', zh: '来源' }),
        cell: (row) => (row.from === 'environment' ? settings[row.name].variable : row.from),
      },
      { heading: context.localize({ en: 'WHAT', zh: '说明' }), cell: (row) => context.localize(settings[row.name].summary) },
    ]),
  )
}

export const get: CommandHandler = async (context, args) => {
  const name = args.requireText('name')
  const { value, from } = new Settings(context.environment).get(requireSettingName(name))
  context.printResult({ name, value: value ?? null, from }, () => value ?? '')
}

export const set: CommandHandler = async (context, args) => {
  const name = args.requireText('name')
  const value = args.requireText('value')
  const storedSettings = new Settings(context.environment)
  storedSettings.set(requireSettingName(name), value)
  const { from } = storedSettings.get(requireSettingName(name))
  if (from === 'environment') {
    const { variable } = settings[requireSettingName(name)]
    context.printNote({
      en: `${variable} is set in this terminal and takes precedence.`,
      zh: `当前终端设置了 ${variable}，优先生效。`,
    })
  }
  context.printResult({ name, value }, () => '')
}

export const unset: CommandHandler = async (context, args) => {
  const name = args.requireText('name')
  new Settings(context.environment).unset(requireSettingName(name))
  context.printResult({ name }, () => '')
}

export const path: CommandHandler = async (context) => {
  const { path } = new Settings(context.environment)
  context.printResult({ path }, () => path)
}

function requireSettingName(name: string): SettingName {
  if (isSettingName(name)) return name
  throw createUsageFailure({
    en: `There is no setting '${name}'; there are ${names.join(', ')}.`,
    zh: `没有设置“${name}”；可用设置：${names.join('、')}。`,
  })
}
