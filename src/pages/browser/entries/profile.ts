/** The member's choice of emails. */
import './site.ts'
import { callApi } from '../api-client.ts'
import { loadCard, renderFailureNotice } from '../components/request-state.ts'
import { showToast } from '../components/toast.ts'
import { createElement, getTexts } from '../page.ts'

const { alerts: texts } = getTexts('account')

void loadCard('alerts', async () => {
  const { enabled } = await callApi('get', '/api/membership/usage-alerts')
  const choice = createElement('input', { type: 'checkbox', id: 'usage-alerts', checked: enabled })
  const outcome = createElement('div')
  choice.addEventListener('change', () => void save(choice, outcome))
  return [createElement('label', { class: 'check', for: 'usage-alerts' }, choice, ' ', texts.label), outcome]
})

async function save(choice: HTMLInputElement, outcome: HTMLElement): Promise<void> {
  const enabled = choice.checked
  choice.disabled = true
  outcome.replaceChildren()
  try {
    await callApi('post', '/api/membership/usage-alerts', { body: { enabled } })
    showToast(enabled ? texts.on : texts.off)
  } catch (failure) {
    choice.checked = !enabled
    outcome.replaceChildren(renderFailureNotice(failure))
  } finally {
    choice.disabled = false
    choice.focus()
  }
}
