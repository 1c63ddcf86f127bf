/** The commands of `svc config`. What can be set, and where it is kept, is `settings.ts`. */
import type { Run } from '../command.ts'
import { usageFailure } from '../failure.ts'
import type { SettingName } from '../settings.ts'
import { isSettingName, Settings, settings } from '../settings.ts'
import { toTable } from '../table.ts'

const names = Object.keys(settings).filter(isSettingName)

/** Every setting, its value, and where the value comes from. */
export const list: Run = async (context) => {
  const kept = new Settings(context.environment)
  const rows = names.map((name) => ({ name, ...kept.get(name) }))
  context.result(Object.fromEntries(rows.map(({ name, value, from }) => [name, { value: value ?? null, from }])), () =>
    toTable(rows, [
      { heading: context.say({ en: 'SETTING', zh: '设置' }), cell: (row) => row.name },
      { heading: context.say({ en: 'VALUE', zh: '值' }), cell: (row) => row.value ?? '–' },
      {
        heading: context.say({ en: 'FROM', zh: '来源' }),
        cell: (row) => (row.from === 'environment' ? settings[row.name].variable : row.from),
      },
      { heading: context.say({ en: 'WHAT', zh: '说明' }), cell: (row) => context.say(settings[row.name].summary) },
    ]),
  )
}

export const get: Run = async (context, args) => {
  const name = args.need('name')
  const { value, from } = new Settings(context.environment).get(known(name))
  context.result({ name, value: value ?? null, from }, () => value ?? '')
}

export const set: Run = async (context, args) => {
  const name = args.need('name')
  const value = args.need('value')
  const kept = new Settings(context.environment)
  kept.set(known(name), value)
  const { from } = kept.get(known(name))
  if (from === 'environment') {
    const { variable } = settings[known(name)]
    context.note({ en: `${variable} is set in this terminal and goes first.`, zh: `当前终端设置了 ${variable},优先生效。` })
  }
  context.result({ name, value }, () => '')
}

export const unset: Run = async (context, args) => {
  const name = args.need('name')
  new Settings(context.environment).unset(known(name))
  context.result({ name }, () => '')
}

export const path: Run = async (context) => {
  const { path } = new Settings(context.environment)
  context.result({ path }, () => path)
}

function known(name: string): SettingName {
  if (isSettingName(name)) return name
  throw usageFailure({
    en: `There is no setting '${name}'; there are ${names.join(', ')}.`,
    zh: `没有设置“${name}”;可用设置:${names.join('、')}。`,
  })
}
