// Light or dark: as the system says, until the button says otherwise.
const KEY = 'portolan-theme';

export function startTheme(button: HTMLElement): void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = (): boolean => (localStorage.getItem(KEY) ?? (system.matches ? 'dark' : 'light')) === 'dark';
  const show = (): void => {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    button.textContent = isDark() ? '☀' : '☾';
  };
  button.addEventListener('click', () => {
    localStorage.setItem(KEY, isDark() ? 'light' : 'dark');
    show();
  });
  system.addEventListener('change', show);
  show();
}
