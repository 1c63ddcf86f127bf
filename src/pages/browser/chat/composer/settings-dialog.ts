/** The instructions and the temperature of the open conversation. */
import { findElement } from '../../page.ts'
import type { ConversationRecord } from '../chat-message.ts'

export type ChatSettings = Pick<ConversationRecord, 'system' | 'temperature'>

const button = findElement('[data-open-settings]', HTMLButtonElement)
const dialog = findElement('[data-settings]', HTMLDialogElement)
const form = findElement('form', HTMLFormElement, dialog)
const system = findElement('#system', HTMLTextAreaElement)
const hasTemperature = findElement('#has-temperature', HTMLInputElement)
const temperature = findElement('#temperature', HTMLInputElement)
const temperatureOutput = findElement('[data-temperature]', HTMLOutputElement)
const usualTemperature = 1

/** Opens the dialog on the button's press; `save` gets what was accepted. */
export function connectSettings(load: () => ChatSettings, save: (settings: ChatSettings) => void): void {
  button.addEventListener('click', () => {
    const settings = load()
    system.value = settings.system
    hasTemperature.checked = settings.temperature !== null
    temperature.value = String(settings.temperature ?? usualTemperature)
    update()
    dialog.showModal()
  })
  for (const field of [hasTemperature, temperature]) field.addEventListener('input', update)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const settings = { system: system.value.trim(), temperature: hasTemperature.checked ? Number(temperature.value) : null }
    save(settings)
    showSettings(settings)
    dialog.close()
  })
  findElement('[data-cancel]', HTMLElement, dialog).addEventListener('click', () => dialog.close())
}

/** Marks the button where something is set. */
export function showSettings({ system, temperature }: ChatSettings): void {
  button.classList.toggle('is-set', system !== '' || temperature !== null)
}

function update(): void {
  temperature.disabled = !hasTemperature.checked
  temperatureOutput.textContent = hasTemperature.checked ? temperature.value : ''
}
