create table public.sessions (
  id bigint generated always as identity primary key,
  last_seen_at timestamptz not null default now()
);
