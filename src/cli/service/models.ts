import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import type { Fields } from '../record.ts'
import { list, number, record, string } from '../record.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { call } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** `GET /v1/models`: what the account's plan has. */
export const run: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const { body } = await call(context, site, { method: 'GET', path: '/v1/models', credential })
  const models = list(record(body)['data']).map(record)
  context.result(models, () =>
    toTable(models, [
      { heading: context.say({ en: 'MODEL', zh: '模型' }), cell: (model) => text(model, 'id') },
      { heading: context.say({ en: 'TIER', zh: '档位' }), cell: (model) => tier(context, text(model, 'tier')) },
      {
        heading: context.say({ en: 'CAN', zh: '能力' }),
        cell: (model) =>
          list(model['capabilities'])
            .map((can) => terminalLine(String(can)))
            .join(' '),
      },
      { heading: context.say({ en: 'CONTEXT', zh: '上下文' }), align: 'right', cell: (model) => tokens(model['context_length']) },
      { heading: context.say({ en: 'IN / OUT', zh: '输入 / 输出' }), align: 'right', cell: price },
      { heading: context.say({ en: 'UNTIL', zh: '停用日期' }), cell: (model) => text(model, 'shutdown_date') },
    ]),
  )
}

function text(model: Fields, name: string): string {
  return terminalLine(string(model[name]) ?? '')
}

function tokens(value: unknown): string {
  const count = number(value)
  return count === undefined ? '' : count >= 1000 ? `${Math.round(count / 1000)}k` : String(count)
}

/** Dollars for a million tokens, as they are charged. */
function price(model: Fields): string {
  const { input, output, effective_input: ourInput = input, effective_output: ourOutput = output } = record(model['pricing'])
  return number(ourInput) === undefined ? '' : `$${String(ourInput)} / $${String(ourOutput)}`
}

/** In the words of the website. */
function tier(context: Context, word: string): string {
  if (word === 'light') return context.say({ en: 'Fast', zh: '快速' })
  return word === 'flagship' ? context.say({ en: 'Premium', zh: '高级' }) : word
}
