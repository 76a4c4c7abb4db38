create table public.orders (
  id bigint generated always as identity primary key,
  item text not null
);
create table public.receipts (
  order_id bigint primary key references public.orders
);
