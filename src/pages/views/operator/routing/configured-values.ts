/** The configuration of a product or an upstream: each value with where it comes from, and the lines of the file. Secrets are never shown. */
import { readFile } from 'node:fs/promises'
import { resolveConfigFile } from '../../../../config/config.ts'
import { formatConfiguredLines } from '../../../../config/value-source.ts'
import type { ConfiguredValue } from '../../../../config/value-source.ts'
import { renderCodeBlock } from '../../../components/code-block.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'

export async function renderConfiguredValues(
  context: OperatorContext,
  place: readonly [section: 'products' | 'upstreams', name: string],
  values: readonly ConfiguredValue[],
): Promise<Html> {
  if (values.length === 0) return html``
  const { routing: texts } = context.t.console
  const file = resolveConfigFile()
  const line = await findLine(file, place)
  const where = line === null ? interpolate(texts.fileOnly, { file }) : interpolate(texts.file, { file, line })
  return html`<section class="card">
    <div class="card-head pad-head">
      <h2>${texts.values}</h2>
      <p>${texts.valuesLead}</p>
    </div>
    ${renderDataTable({
      label: texts.values,
      look: '',
      columns: [{ title: texts.key }, { title: texts.value }, { title: texts.source }],
      rows: values.map(({ key, text, isSet, source, variables }) => ({
        cells: [
          html`<code>${key}</code>`,
          text === null
            ? html`<span class="badge">${isSet ? texts.set : texts.notSet}</span>`
            : html`<code class="configured-value">${nameValue(context, text)}</code>`,
          html`${texts.sources[source]}${variables.length > 0 && html`: <code class="breakable">${variables.join(', ')}</code>`}`,
        ],
      })),
    })}
    <div class="pad-rest">
      <p class="sub breakable">${where}</p>
      ${renderCodeBlock(context, texts.lines, formatConfiguredLines(place, values))}
    </div>
  </section>`
}

/** What stands for no value, and for a switch. */
function nameValue({ t }: OperatorContext, text: string): string {
  const { on, off } = t.console.routing
  return { null: '–', true: on, false: off }[text] ?? text
}

/** The first line that names it after that of its section; null where the file takes it from another one. */
async function findLine(file: string, [section, name]: readonly [string, string]): Promise<number | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n')
  const isKey = (line: string, key: string): boolean =>
    [key, `'${key}'`, `"${key}"`].some((each) => line.trim().startsWith(`${each}:`))
  const start = lines.findIndex((line) => isKey(line, section))
  const lineIndex = lines.findIndex((line, index) => index > start && isKey(line, name))
  return start === -1 || lineIndex === -1 ? null : lineIndex + 1
}
