-- Messages whose attempts are used up, or that were buried, with the reason of the last one. Only operators delete from it.
create table dead_letter (
  id bigint generated always as identity primary key,
  queue_id int not null references queue on delete cascade,
  -- by name: dead letters outlive a consumer
  consumer text not null,
  message_id bigint not null,
  attempt int not null,
  lane smallint not null default 0,
  key text,
  type text not null,
  payload text,
  headers jsonb,
  created_at timestamptz not null,
  died_at timestamptz not null default clock_timestamp(),
  reason text
);

create index dead_letter_by_queue on dead_letter (queue_id, id);

comment on table dead_letter is 'Messages whose attempts are used up, or that were buried, with the reason of the last one.';
