/** `/terms` and `/privacy`: the operator's own texts. */
import { GatewayError } from '../../errors.ts'
import { html } from '../html.ts'
import { findLegalText, readLegalText } from '../site-texts/legal-text.ts'
import type { LegalText } from '../site-texts/legal-text.ts'
import { renderMarkdown } from '../markdown-html.ts'
import type { PageContext, View } from '../page.ts'

export function createTermsView(context: PageContext): View {
  return createLegalView(context, 'terms')
}

export function createPrivacyView(context: PageContext): View {
  return createLegalView(context, 'privacy')
}

function createLegalView(context: PageContext, name: LegalText): View {
  const { t, services, language } = context
  const text = findLegalText(services.config, name, language)
  if (text === null || text.startsWith('https://')) throw new GatewayError('not_found')
  return {
    title: t.legal[name],
    styles: 'docs.css',
    main: html`<article class="shell text-page">${renderMarkdown(context, readLegalText(text)).content}</article>`,
  }
}
