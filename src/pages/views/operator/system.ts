/** `/operator/system`: versions, whether the service is ready, its database, its operators, and what the doctor finds. */
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { readVersion } from '../../../system/version.ts'
import { renderDataTable } from '../../components/data-table.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderFacts } from '../../components/list.ts'
import { renderPastTime, renderTime } from '../../components/time.ts'
import { formatNumber } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireOperatorContext } from '../../page.ts'
import type { OperatorAction, OperatorContext, PageContext, View } from '../../page.ts'
import { createOperatorView } from './operator-frame.ts'
import { consoleSections, hasScope } from './sections.ts'

export const systemActions = {
  run_doctor: {
    // It sends requests to upstreams and to the mail server.
    access: { scope: 'routing:write' },
    run: async (context) => drawSystem(context, await context.operations.runDoctor()),
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

export function createSystemView(page: PageContext): Promise<View> {
  return drawSystem(requireOperatorContext(page))
}

/** `findings` of the doctor; null where it could not be run. */
async function drawSystem(context: OperatorContext, findings?: readonly HealthCheck[] | null): Promise<View> {
  const { t, operations } = context
  const { system: texts } = t.console
  const database = (await operations.database?.runChecks()) ?? []
  return createOperatorView(context, {
    title: t.console.sections.system,
    content: html`${hasScope(context, systemActions.run_doctor.access.scope) && renderDoctor(context, findings)}
    ${await renderService(context)}
    ${
      database.length > 0 &&
      html`<section class="card">
        <div class="card-head pad-head"><h2>${texts.database}</h2></div>
        ${renderChecks(context, texts.database, database)}
      </section>`
    }
    ${await renderOperators(context)}`,
  })
}

function renderDoctor(context: OperatorContext, findings: readonly HealthCheck[] | null | undefined): Html {
  const { system: texts } = context.t.console
  const failedCount = findings?.filter(({ ok }) => !ok).length ?? 0
  const sentence =
    findings === null
      ? texts.cannotRun
      : failedCount === 0
        ? texts.allGood
        : interpolate(texts.someFail, { count: formatNumber(failedCount, context.language) })
  const look = findings === null || failedCount > 0 ? 'warn' : ''
  return html`<section class="card">
    <div class="card-head pad-head">
      <h2>${texts.doctor}</h2>
      <p>${texts.doctorLead}</p>
    </div>
    <div class="pad-rest doctor">
      ${findings !== undefined && html`<p class="notice ${look}" role="status">${sentence}</p>`}
      ${new PageForm(context, 'run_doctor').render({ content: html`<button class="button quiet">${texts.runDoctor}</button>` })}
    </div>
    ${findings != null && renderChecks(context, texts.doctor, findings)}
  </section>`
}

/** Failed ones first. */
function renderChecks({ t }: OperatorContext, label: string, checks: readonly HealthCheck[]): Html {
  const { system: texts } = t.console
  return renderDataTable({
    label,
    columns: [{ title: texts.check }, { title: texts.result }],
    rows: checks
      .toSorted((one, other) => Number(one.ok) - Number(other.ok))
      .map(({ what, ok, detail }) => ({
        cells: [
          html`${what}`,
          html`<span class="badge ${ok ? 'good' : 'bad'}">${ok ? texts.ok : texts.fails}</span>
            <span class="breakable">${detail}</span>`,
        ],
      })),
  })
}

async function renderService(context: OperatorContext): Promise<Html> {
  const { t, operations, language } = context
  const { system: texts, now } = t.console
  const [figures, reasons, mailNote] = await Promise.all([
    operations.readFigures(),
    operations.notReadyReasons(),
    operations.mailNote(),
  ])
  const { backupAgeSeconds: age, certificateEndsAt: ends, mismatches } = figures
  const why = [...(operations.isDraining() ? [now.needs.draining] : []), ...reasons]
  const notes = [...(mailNote === null ? [] : [mailNote]), ...(operations.database?.getNotes() ?? [])]
  return html`<section class="card pad" aria-label="${texts.service}">
    ${renderFacts([
      [texts.version, readVersion()],
      [texts.node, process.versions.node],
      [texts.ready, why.length === 0 ? texts.yes : why.join('; ')],
      [texts.notes, notes.length === 0 ? null : notes.join('; ')],
      [texts.certificate, ends === null ? null : renderTime(context, ends)],
      [texts.backup, age === null ? now.noBackups : renderPastTime(context, figures.at - age * 1000)],
      [
        texts.ledger,
        mismatches === 0 ? texts.addsUp : interpolate(texts.mismatches, { count: formatNumber(mismatches, language) }),
      ],
    ])}
  </section>`
}

async function renderOperators(context: OperatorContext): Promise<Html> {
  const { t, services } = context
  const { system: texts } = t.console
  const operators = await services.store.operators.list(services.clock.now())
  if (operators.length === 0) return html``
  return html`<section class="card">
    <div class="card-head pad-head"><h2>${texts.operators}</h2></div>
    ${renderDataTable({
      label: texts.operators,
      columns: [{ title: texts.operator }, { title: texts.role }, { title: texts.secondFactor }, { title: texts.given }],
      rows: operators.map(({ account, email, role, grantedAt, hasSecondFactor }) => ({
        cells: [
          hasScope(context, consoleSections.members.access.scope)
            ? html`<a class="breakable" href="${consoleSections.members.path}/${account}">${email ?? account}</a>`
            : html`<span class="breakable">${email ?? account}</span>`,
          html`${t.operator.roles[role]}`,
          html`<span class="badge ${hasSecondFactor ? 'good' : 'warn'}">${hasSecondFactor ? texts.setUp : texts.notSetUp}</span>`,
          renderTime(context, grantedAt, 'date'),
        ],
      })),
    })}
  </section>`
}
