/** The form of the filters: its fields stand in the address, and a word stands beside each that cannot be used. */
import { errorCatalog } from '../../../../errors.ts'
import type { HistoryProgress } from '../../../../domain/turn-history/turn-history.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { anyFailure, successEndings } from './turn-search.ts'
import type { SearchField, TurnSearch } from './turn-search.ts'
import { nameEnding } from './turn-table.ts'

export function renderTurnSearch(
  context: OperatorContext,
  { path, fields, search }: { readonly path: string; readonly fields: readonly SearchField[]; readonly search: TurnSearch },
): Html {
  const { turns: texts } = context.t.console
  const isUsed = Object.keys(search.typed).length > 0
  return html`<details class="card pad turn-filter" ${isUsed && html`open`}>
    <summary>${texts.filters}</summary>
    <form class="filter-row" method="get" action="${path}">
      ${fields.map((name) => renderField(context, name, search))}
      <button class="button">${context.t.console.audit.show}</button>
    </form>
  </details>`
}

/** What the lists lack, which are written behind the ledger. */
export function describeProgress({ t, language }: OperatorContext, { behindMs }: HistoryProgress): string {
  const { turns: texts } = t.console
  if (behindMs === 0) return texts.complete
  if (behindMs === null) return texts.beingMade
  return interpolate(texts.behind, { seconds: formatNumber(Math.max(1, Math.round(behindMs / 1000)), language) })
}

function renderField(context: OperatorContext, name: SearchField, { typed, faults }: TurnSearch): Html {
  const { turns: texts } = context.t.console
  const { [name]: value = '' } = typed
  const { [name]: fault } = faults
  const hint =
    name === 'from' || name === 'to'
      ? interpolate(texts.timeHint, { zone: context.services.config.timeZone })
      : {
          member: texts.memberHint,
          key: texts.keyHint,
          target: texts.targetHint,
          product: null,
          ending: null,
          plan: texts.planHint,
          request: null,
        }[name]
  const notes = [...(hint === null ? [] : [`${name}-hint`]), ...(fault === undefined ? [] : [`${name}-error`])]
  const describingAttributes = html`${notes.length > 0 && html`aria-describedby="${notes.join(' ')}"`}
  ${fault !== undefined && html`aria-invalid="true"`}`
  return html`<div class="field">
    <label for="${name}">${texts.fields[name]}</label>
    ${name === 'ending' ? renderEndings(context, value, describingAttributes) : html`<input id="${name}" name="${name}" type="text" value="${value}" autocapitalize="none" autocomplete="off" spellcheck="false" ${describingAttributes} />`}
    ${hint !== null && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${fault !== undefined && html`<p class="field-error" id="${name}-error" role="alert">${fault}</p>`}
  </div>`
}

/** Turns of older versions may have other codes, which an address can name. */
function renderEndings(context: OperatorContext, chosen: string, described: Html): Html {
  const { turns: texts } = context.t.console
  const knownEndings = ['completed', 'aborted', 'expired', ...Object.keys(errorCatalog).toSorted()]
  const endings = [
    ...knownEndings,
    ...(chosen === '' || [anyFailure, ...successEndings, ...knownEndings].includes(chosen) ? [] : [chosen]),
  ]
  const option = (value: string, text: string): Html =>
    html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`
  return html`<select id="ending" name="ending" ${described}>
    ${option('', context.t.console.audit.anyEvent)} ${option(anyFailure, texts.anyFailure)}
    ${successEndings.map((name) => option(name, texts.successEndings[name]))}
    ${endings.map((ending) => option(ending, nameEnding(context, ending)))}
  </select>`
}
