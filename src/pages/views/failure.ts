/** A failure as a page: what happened and what to do next. */
import type { GatewayError } from '../../errors.ts'
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function createFailureView({ t, language }: PageContext, failure: GatewayError, requestId: string): View {
  const missing = failure.code === 'not_found'
  const title = missing ? t.failure.notFoundTitle : t.failure.title
  const messageText = language === 'zh' ? failure.messageZh : failure.message
  return {
    title,
    status: failure.status,
    main: html`<section class="shell failure-page">
      <p class="failure-status" aria-hidden="true">${failure.status}</p>
      <h1>${title}</h1>
      <p class="lead">${missing ? t.failure.notFound : messageText}</p>
      <p class="actions">
        ${
          failure.code === 'sign_in_required'
            ? html`<a class="button" href="/sign-in">${t.frame.signIn}</a>`
            : html`<a class="button" href="/">${t.failure.home}</a>`
        }
        ${!missing && html`<a class="button quiet" href="/docs/errors#${failure.code}">${t.common.aboutError}</a>`}
      </p>
      <p class="reference">${t.failure.reference}: <code>${requestId}</code></p>
    </section>`,
  }
}
