/**
 * `/sign-in/link#…`: the target of a magic link. Opening it does not sign in by itself, because mail scanners open links too; the page
 * names the account, because anyone can send a link of their own account to someone else. The link's token is behind `#`, where no server
 * and no log sees it: a script sends it as a form, and without scripts the reader pastes the link.
 */
import { maskEmail } from '../../../domain/identity/audit.ts'
import { createExpiredLinkError } from '../../../services/membership-errors.ts'
import { createCardView } from '../../components/card-page.ts'
import { readText } from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { fillText } from '../../page.ts'
import type { PageActions, PageContext, PageRedirect, SubmittedForm, View } from '../../page.ts'
import { openFormSession, requireEmailSignIn } from '../../open-form-session.ts'

const maxLinkChars = 2_000

export const signInLinkActions: PageActions<PageContext> = {
  inspect,
  sign_in: (context, form) => signIn(context, form, false),
}

/** Looking at a link changes nothing. */
export const signInLinkRepeats: PageActions<PageContext> = {
  inspect,
  sign_in: (context, form) => signIn(context, form, true),
}

async function inspect(context: PageContext, form: SubmittedForm): Promise<View> {
  requireEmailSignIn(context)
  const link = readLink(form)
  const address = await context.services.membership.signIn.findEmailByMagicLink(link)
  if (address === undefined) throw createExpiredLinkError('link')
  const { t } = context
  return drawPage(
    context,
    html`<p class="sub">${fillText(t.signInLink.whose, { email: html`<strong>${maskEmail(address)}</strong>` })}</p>
      ${new PageForm(context, 'sign_in').render({
        hidden: { link },
        content: html`<div class="form-end"><button class="button block" autofocus>${t.signInLink.signIn}</button></div>`,
      })}`,
  )
}

async function signIn(context: PageContext, form: SubmittedForm, isRepeat: boolean): Promise<PageRedirect> {
  requireEmailSignIn(context)
  const link = readLink(form)
  const { services, browser } = context
  await openFormSession(context, form, {
    evidence: link,
    signIn: (client) => services.membership.signIn.signInWithMagicLink(link, browser.token, client),
    createWrongError: () => createExpiredLinkError('link'),
    isRepeat,
  })
  browser.setToken(null)
  return { path: browser.signInStep?.next ?? '/account' }
}

export function createSignInLinkView(context: PageContext): View {
  const { t, redrawn } = context
  // A link that no longer signs in is followed by another one.
  const form = new PageForm({ ...context, redrawn: redrawn && { ...redrawn, action: 'inspect' } }, 'inspect')
  const attributes = html`autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="${maxLinkChars}" required`
  return drawPage(
    context,
    html`${form.render({
        content: html`${form.renderField({ name: 'link', label: t.signInLink.link, hint: t.signInLink.linkHint, attributes })}
          <div class="form-end"><button class="button block">${t.signInLink.next}</button></div>`,
      })}
      <p class="form-links"><a href="/sign-in">${t.signInLink.anew}</a></p>`,
  )
}

/** The token at the end of the link. */
function readLink(form: SubmittedForm): string {
  const typedLink = readText(form, 'link', maxLinkChars)
  return typedLink.slice(typedLink.lastIndexOf('#') + 1)
}

function drawPage({ t }: PageContext, content: Html): View {
  return createCardView({ title: t.signInLink.title, content, script: { name: 'sign-in-link', texts: {}, props: {} } })
}
