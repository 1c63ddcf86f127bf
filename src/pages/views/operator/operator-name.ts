/** Who is signed in to the console, in words, and the way out. */
import { PageForm } from '../../components/forms/form.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate } from '../../page.ts'
import type { OperatorContext } from '../../page.ts'
import { consoleSections } from './sections.ts'

export function nameOperator({ t, operator: { actor, account } }: OperatorContext): string {
  if (actor.kind === 'shell') return interpolate(t.operator.shellUser, { user: actor.systemUser })
  return account?.email ?? actor.account
}

export function nameRole({ t, operator: { actor } }: OperatorContext): string {
  return actor.kind === 'session' ? t.operator.roles[actor.role] : t.operator.shellRole
}

export function renderLeaveForm(context: OperatorContext, look: string): Html {
  const button = html`<button class="button ${look}">${context.t.operator.close}</button>`
  return new PageForm(context, 'close').render({ path: consoleSections.session.path, content: button })
}
