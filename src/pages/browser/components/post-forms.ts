/** A form of the server is sent once, however often its button is pressed, and with the reader's time zone. */
import { findElements } from '../page.ts'

export function setUpPostForms(): void {
  for (const form of findElements('form[data-post]', HTMLFormElement))
    form.addEventListener('submit', (event) => {
      if (form.getAttribute('aria-busy') === 'true') return event.preventDefault()
      form.setAttribute('aria-busy', 'true')
      const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
      const field = form.elements.namedItem('time_zone')
      if (field instanceof HTMLInputElement) field.value = timeZone
    })
}
