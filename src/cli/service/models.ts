/** `GET /v1/models`: what the account's plan has. */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { listModels } from '../../api/models.ts'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { toTable } from '../table.ts'
import { terminalLine } from '../terminal-text.ts'
import { ask, show } from './client.ts'
import type { Told } from './client.ts'
import { needCredential, readSite } from './site.ts'

export const run: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const { answer } = await ask<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential })
  show(context, site, answer.data ?? [], (models) =>
    toTable(models, [
      { heading: context.say({ en: 'MODEL', zh: '模型' }), cell: (model) => terminalLine(model.id ?? '') },
      { heading: context.say({ en: 'TIER', zh: '档位' }), cell: (model) => tier(context, terminalLine(model.tier ?? '')) },
      {
        heading: context.say({ en: 'CAN', zh: '能力' }),
        cell: (model) => (model.capabilities ?? []).map(terminalLine).join(' '),
      },
      { heading: context.say({ en: 'CONTEXT', zh: '上下文' }), align: 'right', cell: (model) => tokens(model.context_length) },
      { heading: context.say({ en: 'IN / OUT', zh: '输入 / 输出' }), align: 'right', cell: price },
      { heading: context.say({ en: 'UNTIL', zh: '停用日期' }), cell: (model) => terminalLine(model.shutdown_date ?? '') },
    ]),
  )
}

type Model = Told<AnswerOf<typeof listModels>['data'][number]>

function tokens(count: number | undefined): string {
  return count === undefined ? '' : count >= 1000 ? `${Math.round(count / 1000)}k` : String(count)
}

/** Dollars for a million tokens, as they are charged. */
function price({ pricing = {} }: Model): string {
  const input = pricing.effective_input ?? pricing.input
  const output = pricing.effective_output ?? pricing.output
  return input === undefined ? '' : `$${input} / $${output}`
}

/** In the words of the website. */
function tier(context: Context, word: string): string {
  if (word === 'light') return context.say({ en: 'Fast', zh: '快速' })
  return word === 'flagship' ? context.say({ en: 'Premium', zh: '高级' }) : word
}
