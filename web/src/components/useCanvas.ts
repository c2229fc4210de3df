/** A canvas that is as wide as its place, sharp on every screen, and drawn again when the theme changes. */
import { type RefObject, useEffect, useRef, useState } from "react";

export type Colours = (name: string) => string;

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number, colour: Colours) => void;

/** `draw` runs in an animation frame after each render with other inputs. */
export function useCanvas(draw: Draw, height: number): { canvas: RefObject<HTMLCanvasElement | null>; width: number } {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const place = canvas.current?.parentElement;
    if (!place) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(place.clientWidth)));
    observer.observe(place);
    const onTheme = () => setTheme((count) => count + 1);
    window.addEventListener("themechange", onTheme);
    return () => {
      observer.disconnect();
      window.removeEventListener("themechange", onTheme);
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme has other colours
  useEffect(() => {
    if (width === 0) return;
    const frame = requestAnimationFrame(() => {
      if (canvas.current) paint(canvas.current, draw, width, height);
    });
    return () => cancelAnimationFrame(frame);
  }, [draw, width, height, theme]);
  return { canvas, width };
}

function paint(canvas: HTMLCanvasElement, draw: Draw, width: number, height: number): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const known = new Map<string, string>();
  const colour = (name: string) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name) as string;
  };
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  draw(context, width, height, colour);
}
