create table public.stock (
  item text primary key,
  quantity int not null check (quantity >= 0)
);
create table public.orders (
  id bigint generated always as identity primary key,
  item text not null references public.stock
);
-- no unique key: an order that was handled twice would have two
create table public.shipments (
  order_id bigint not null references public.orders
);
insert into public.stock values ('tea', 2);
